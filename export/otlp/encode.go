package otlp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/profguard/profguard/guard"
)

// scope is the instrumentation scope of the profiles.
const scope = "github.com/profguard/profguard"

// own are attributes of a profile; the others describe the process.
const own = "profguard."

// encode makes a request of a profile.
func encode(p guard.Profile) (*collector.ExportProfilesServiceRequest, error) {
	from, err := profile.Parse(bytes.NewReader(p.Data))
	if err != nil {
		return nil, err
	}
	d := newDictionary()
	stacks := make([]int32, len(from.Sample))
	labels := make([][]int32, len(from.Sample))
	for i, s := range from.Sample {
		if slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 }) { // or nothing refers to them
			stacks[i], labels[i] = d.stack(s.Location), d.labels(s)
		}
	}
	about := d.about(p, from)
	var out []*profiles.Profile
	for _, v := range typesOf(from) {
		to := &profiles.Profile{
			SampleType:       d.valueType(from.SampleType[v]),
			TimeUnixNano:     uint64(max(cmp.Or(from.TimeNanos, p.Start.UnixNano()), 0)),
			DurationNano:     uint64(max(cmp.Or(from.DurationNanos, int64(p.End.Sub(p.Start))), 0)),
			Period:           from.Period,
			AttributeIndices: about,
			ProfileId:        idOf(p.ID, from.SampleType[v].Type),
		}
		if from.PeriodType != nil {
			to.PeriodType = d.valueType(from.PeriodType)
		}
		to.Samples = samplesOf(from, v, stacks, labels)
		out = append(out, to)
	}
	return &collector.ExportProfilesServiceRequest{
		Dictionary: d.ProfilesDictionary,
		ResourceProfiles: []*profiles.ResourceProfiles{{
			Resource:      &resource.Resource{Attributes: resourceOf(p.Attributes)},
			ScopeProfiles: []*profiles.ScopeProfiles{{Scope: &common.InstrumentationScope{Name: scope}, Profiles: out}},
		}},
	}, nil
}

// typesOf are the sample types, that which is shown by default first: tools show the first profile.
func typesOf(p *profile.Profile) (order []int) {
	first := len(p.SampleType) - 1
	for i, t := range p.SampleType {
		if t.Type == p.DefaultSampleType {
			first = i
		}
	}
	for i := range p.SampleType {
		order = append(order, i)
	}
	if first > 0 {
		order = slices.Insert(slices.Delete(order, first, first+1), 0, first)
	}
	return order
}

// samplesOf are the samples of one type of value, without those whose value is 0. Those of one
// stack with the same attributes are added up.
func samplesOf(p *profile.Profile, v int, stacks []int32, labels [][]int32) (out []*profiles.Sample) {
	known := map[string]*profiles.Sample{}
	for i, s := range p.Sample {
		if s.Value[v] == 0 {
			continue
		}
		key := fmt.Sprint(stacks[i], labels[i])
		to := known[key]
		if to == nil {
			to = &profiles.Sample{StackIndex: stacks[i], AttributeIndices: labels[i], Values: []int64{0}}
			known[key] = to
			out = append(out, to)
		}
		to.Values[0] += s.Value[v]
	}
	return out
}

// idOf is the same whenever a profile is sent.
func idOf(id, valueType string) []byte {
	sum := sha256.Sum256([]byte(id + "\x00" + valueType))
	return sum[:16]
}

func resourceOf(attributes map[string]string) (list []*common.KeyValue) {
	for _, k := range slices.Sorted(maps.Keys(attributes)) {
		if !strings.HasPrefix(k, own) {
			list = append(list, &common.KeyValue{Key: valid(k), Value: text(attributes[k])})
		}
	}
	return list
}

// A dictionary has the tables of a message. Their first elements are zero values, and stand for
// "none".
type dictionary struct {
	*profiles.ProfilesDictionary
	strings    map[string]int32
	attributes map[string]int32
	mappings   map[string]int32
	functions  map[string]int32
	locations  map[string]int32
	stacks     map[string]int32
	of         map[*profile.Location]int32
}

func newDictionary() *dictionary {
	return &dictionary{
		ProfilesDictionary: &profiles.ProfilesDictionary{
			MappingTable:   []*profiles.Mapping{{}},
			LocationTable:  []*profiles.Location{{}},
			FunctionTable:  []*profiles.Function{{}},
			LinkTable:      []*profiles.Link{{}}, // without ids: Parca refuses ids of zero bytes, which the protocol allows, too
			StringTable:    []string{""},
			AttributeTable: []*profiles.KeyValueAndUnit{{}},
			StackTable:     []*profiles.Stack{{}},
		},
		strings: map[string]int32{"": 0}, attributes: map[string]int32{"": 0}, mappings: map[string]int32{"": 0},
		functions: map[string]int32{"": 0}, locations: map[string]int32{"": 0}, stacks: map[string]int32{"": 0},
		of: map[*profile.Location]int32{},
	}
}

// indexOf is the place of an item in a table, to which it is added if it is new. No table has an
// item twice.
func indexOf[T proto.Message](known map[string]int32, table *[]T, item T) int32 {
	key, _ := proto.MarshalOptions{Deterministic: true}.Marshal(item) // texts are valid
	i, is := known[string(key)]
	if !is {
		i = int32(len(*table))
		known[string(key)] = i
		*table = append(*table, item)
	}
	return i
}

func (d *dictionary) text(s string) int32 {
	s = valid(s)
	i, known := d.strings[s]
	if !known {
		i = int32(len(d.StringTable))
		d.strings[s] = i
		d.StringTable = append(d.StringTable, s)
	}
	return i
}

func (d *dictionary) valueType(t *profile.ValueType) *profiles.ValueType {
	return &profiles.ValueType{TypeStrindex: d.text(t.Type), UnitStrindex: d.text(t.Unit)}
}

func (d *dictionary) stack(locations []*profile.Location) int32 {
	if len(locations) == 0 {
		return 0
	}
	s := &profiles.Stack{}
	for _, l := range locations {
		s.LocationIndices = append(s.LocationIndices, d.location(l))
	}
	return indexOf(d.stacks, &d.StackTable, s)
}

func (d *dictionary) location(l *profile.Location) int32 {
	if i, known := d.of[l]; known {
		return i
	}
	to := &profiles.Location{Address: l.Address, MappingIndex: d.mapping(l.Mapping)}
	for _, line := range l.Line {
		to.Lines = append(to.Lines, &profiles.Line{FunctionIndex: d.function(line.Function), Line: line.Line, Column: line.Column})
	}
	if l.IsFolded {
		to.AttributeIndices = []int32{d.attribute("pprof.location.is_folded", boolean(true), "")}
	}
	if to.Address == 0 && len(to.Lines) == 0 {
		to.Lines = []*profiles.Line{{FunctionIndex: d.function(&profile.Function{Name: "[unknown]"})}} // not "none"
	}
	i := indexOf(d.locations, &d.LocationTable, to)
	d.of[l] = i
	return i
}

func (d *dictionary) function(f *profile.Function) int32 {
	if f == nil || f.Name == "" && f.SystemName == "" && f.Filename == "" {
		return 0
	}
	return indexOf(d.functions, &d.FunctionTable, &profiles.Function{
		NameStrindex: d.text(f.Name), SystemNameStrindex: d.text(f.SystemName), FilenameStrindex: d.text(f.Filename), StartLine: f.StartLine,
	})
}

func (d *dictionary) mapping(m *profile.Mapping) int32 {
	if m == nil {
		return 0
	}
	to := &profiles.Mapping{MemoryStart: m.Start, MemoryLimit: m.Limit, FileOffset: m.Offset, FilenameStrindex: d.text(m.File)}
	if m.BuildID != "" {
		to.AttributeIndices = append(to.AttributeIndices, d.attribute("process.executable.build_id.gnu", text(m.BuildID), ""))
	}
	for _, has := range []struct {
		what string
		is   bool
	}{{"functions", m.HasFunctions}, {"filenames", m.HasFilenames}, {"line_numbers", m.HasLineNumbers}, {"inline_frames", m.HasInlineFrames}} {
		if has.is {
			to.AttributeIndices = append(to.AttributeIndices, d.attribute("pprof.mapping.has_"+has.what, boolean(true), ""))
		}
	}
	return indexOf(d.mappings, &d.MappingTable, to)
}

// labels are the labels of a sample, each key once.
func (d *dictionary) labels(s *profile.Sample) (indices []int32) {
	type label struct {
		values []*common.AnyValue
		unit   string
	}
	of := map[string]label{}
	for key, values := range s.Label {
		l := of[valid(key)]
		for _, v := range values {
			l.values = append(l.values, text(v))
		}
		of[valid(key)] = l
	}
	for key, values := range s.NumLabel {
		l := of[valid(key)]
		for i, v := range values {
			l.values = append(l.values, &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v}})
			if units := s.NumUnit[key]; i < len(units) && l.unit == "" {
				l.unit = units[i]
			}
		}
		of[valid(key)] = l
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		l := of[key]
		value := l.values[0]
		if len(l.values) > 1 {
			value = &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: l.values}}}
		}
		indices = append(indices, d.attribute(key, value, ucum(l.unit)))
	}
	return indices
}

// about are the attributes of the profile itself.
func (d *dictionary) about(p guard.Profile, from *profile.Profile) (indices []int32) {
	of := map[string]*common.AnyValue{own + "profile.id": text(p.ID), own + "profile.kind": text(p.Kind)}
	for k, v := range p.Attributes {
		if strings.HasPrefix(k, own) {
			of[valid(k)] = text(v)
		}
	}
	if p.Budget != "" {
		of[own+"budget.name"] = text(p.Budget)
	}
	for k, v := range map[string]string{"drop_frames": from.DropFrames, "keep_frames": from.KeepFrames, "doc_url": from.DocURL} {
		if v != "" {
			of["pprof.profile."+k] = text(v)
		}
	}
	if len(from.Comments) > 0 {
		var all []*common.AnyValue
		for _, c := range from.Comments {
			all = append(all, text(c))
		}
		of["pprof.profile.comment"] = &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: all}}}
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		indices = append(indices, d.attribute(key, of[key], ""))
	}
	return indices
}

func (d *dictionary) attribute(key string, value *common.AnyValue, unit string) int32 {
	return indexOf(d.attributes, &d.AttributeTable, &profiles.KeyValueAndUnit{KeyStrindex: d.text(key), Value: value, UnitStrindex: d.text(unit)})
}

func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: valid(s)}}
}

func boolean(b bool) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: b}}
}

// valid is a text as protobuf allows it.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// ucum is a unit of pprof in UCUM.
func ucum(unit string) string {
	switch unit {
	case "":
		return ""
	case "bytes", "byte":
		return "By"
	case "nanoseconds":
		return "ns"
	case "microseconds":
		return "us"
	case "milliseconds":
		return "ms"
	case "seconds":
		return "s"
	}
	return "{" + unit + "}"
}
