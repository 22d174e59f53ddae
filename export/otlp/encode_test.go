package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/profguard/profguard/guard"
)

// broken lists the rules in the comments of the proto files that a message breaks.
func broken(req *collector.ExportProfilesServiceRequest) (rules []string) {
	say := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	d := req.Dictionary
	tables := map[string][]proto.Message{}
	for name, table := range map[string]any{
		"mapping": d.MappingTable, "location": d.LocationTable, "function": d.FunctionTable, "link": d.LinkTable,
		"attribute": d.AttributeTable, "stack": d.StackTable,
	} {
		var items []proto.Message
		switch table := table.(type) {
		case []*profiles.Mapping:
			items = messages(table)
		case []*profiles.Location:
			items = messages(table)
		case []*profiles.Function:
			items = messages(table)
		case []*profiles.Link:
			items = messages(table)
		case []*profiles.KeyValueAndUnit:
			items = messages(table)
		case []*profiles.Stack:
			items = messages(table)
		}
		tables[name] = items
		if len(items) == 0 {
			say("%s_table[0] is not there", name)
			continue
		}
		if proto.Size(items[0]) != 0 { // a link with ids of zero bytes has a size, and Parca refuses it
			say("%s_table[0] is no zero value", name)
		}
		seen := map[string]bool{}
		for i, m := range items {
			b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if seen[string(b)] {
				say("%s_table[%d] is a duplicate", name, i)
			}
			seen[string(b)] = true
		}
	}
	if len(d.StringTable) == 0 || d.StringTable[0] != "" {
		say("string_table[0] is not the empty string")
	}
	if sorted := slices.Sorted(slices.Values(d.StringTable)); len(slices.Compact(sorted)) != len(d.StringTable) {
		say("string_table has duplicates")
	}
	for i, f := range d.FunctionTable[min(1, len(d.FunctionTable)):] {
		if f.NameStrindex == 0 && f.SystemNameStrindex == 0 && f.FilenameStrindex == 0 {
			say("function_table[%d] has no name", i+1)
		}
	}
	// Every index refers to an item, and every item is referred to.
	used := map[string]map[int64]bool{}
	table := func(field string) string {
		for _, of := range []struct{ suffix, table string }{
			{"_strindex", "string"}, {"mapping_index", "mapping"}, {"location_indices", "location"}, {"function_index", "function"},
			{"link_index", "link"}, {"attribute_indices", "attribute"}, {"stack_index", "stack"},
		} {
			if strings.HasSuffix(field, of.suffix) {
				return of.table
			}
		}
		return ""
	}
	size := func(table string) int64 {
		if table == "string" {
			return int64(len(d.StringTable))
		}
		return int64(len(tables[table]))
	}
	refer := func(field string, i int64) {
		t := table(field)
		if i < 0 || i >= size(t) {
			say("%s %d is outside of its table", field, i)
		}
		if used[t] == nil {
			used[t] = map[int64]bool{}
		}
		used[t][i] = true
	}
	var walk func(m protoreflect.Message)
	walk = func(m protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			name := string(f.Name())
			switch {
			case f.Kind() == protoreflect.StringKind && !f.IsList() && !utf8.ValidString(v.String()):
				say("%s is no UTF-8", name)
			case table(name) != "" && f.IsList():
				keys := map[int32]bool{}
				for i := range v.List().Len() {
					at := v.List().Get(i).Int()
					refer(name, at)
					if name == "attribute_indices" && at < size("attribute") {
						if key := d.AttributeTable[at].KeyStrindex; at == 0 || keys[key] {
							say("an attribute is none, or its key is there twice")
						} else {
							keys[key] = true
						}
					}
					if name == "location_indices" && at == 0 {
						say("a location of a stack is none")
					}
				}
			case table(name) != "":
				refer(name, v.Int())
			case f.IsList() && f.Kind() == protoreflect.MessageKind:
				for i := range v.List().Len() {
					walk(v.List().Get(i).Message())
				}
			case f.Kind() == protoreflect.MessageKind:
				walk(v.Message())
			}
			return true
		})
	}
	walk(req.ProtoReflect())
	for _, name := range append(slices.Sorted(maps.Keys(tables)), "string") {
		for i := int64(1); i < size(name); i++ {
			if !used[name][i] {
				say("%s_table[%d] is an orphan", name, i)
			}
		}
	}
	ids := map[string]bool{}
	for _, r := range req.ResourceProfiles {
		keys := map[string]bool{}
		for _, a := range r.Resource.GetAttributes() {
			if a.Key == "" || keys[a.Key] {
				say("resource attribute %q is empty or there twice", a.Key)
			}
			keys[a.Key] = true
		}
		for _, s := range r.ScopeProfiles {
			for _, p := range s.Profiles {
				if len(p.ProfileId) != 16 || bytes.Equal(p.ProfileId, make([]byte, 16)) || ids[string(p.ProfileId)] {
					say("profile_id %x is not valid, or there twice", p.ProfileId)
				}
				ids[string(p.ProfileId)] = true
				if (p.OriginalPayloadFormat == "") != (len(p.OriginalPayload) == 0) {
					say("original_payload and its format are not both there")
				}
				if p.SampleType == nil {
					say("no sample_type")
				}
				identities := map[string]bool{}
				for _, s := range p.Samples {
					if len(s.Values)+len(s.TimestampsUnixNano) == 0 {
						say("a sample has neither values nor times")
					}
					if len(s.Values) != 1 || len(s.TimestampsUnixNano) != 0 {
						say("a sample has another shape than others")
					}
					indices := slices.Sorted(slices.Values(s.AttributeIndices))
					key := fmt.Sprint(s.StackIndex, indices, s.LinkIndex)
					if identities[key] {
						say("two samples have one identity")
					}
					identities[key] = true
				}
			}
		}
	}
	return rules
}

func messages[T proto.Message](list []T) (out []proto.Message) {
	for _, m := range list {
		out = append(out, m)
	}
	return out
}

// written is a profile as the guard exports it.
func written(t testing.TB, p *profile.Profile) guard.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return guard.Profile{
		ID: "profguard-1.cpu", Kind: "cpu", Data: b.Bytes(), Budget: "hot",
		Start: time.Unix(100, 0), End: time.Unix(110, 0),
		Attributes: map[string]string{"service.name": "shop", "host.name": "h", "profguard.verdict": "fail"},
	}
}

// odd has about everything that a profile can have.
func odd() *profile.Profile {
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x9000, Offset: 0x10, File: "/bin/shop", BuildID: "abc", HasFunctions: true, HasLineNumbers: true}
	other := &profile.Mapping{ID: 2, File: "[vdso]"}
	f := &profile.Function{ID: 1, Name: "main.f", SystemName: "main.f", Filename: "f.go", StartLine: 3}
	g := &profile.Function{ID: 2, Name: "main.g[go.shape.int]", Filename: "g.go"}
	bad := &profile.Function{ID: 3, Name: "main.\xffbad"}
	same := &profile.Function{ID: 4, Name: "main.f", SystemName: "main.f", Filename: "f.go", StartLine: 3}
	leaf := &profile.Location{ID: 1, Mapping: m, Address: 0x1100, Line: []profile.Line{{Function: f, Line: 7, Column: 2}, {Function: g, Line: 9}}}
	root := &profile.Location{ID: 2, Mapping: m, Address: 0x1200, Line: []profile.Line{{Function: same, Line: 30}}, IsFolded: true}
	raw := &profile.Location{ID: 3, Mapping: other, Address: 0x7}
	none := &profile.Location{ID: 4}
	rude := &profile.Location{ID: 5, Line: []profile.Line{{Function: bad}}}
	sample := func(a, b int64, locations ...*profile.Location) *profile.Sample {
		return &profile.Sample{Location: locations, Value: []int64{a, b}}
	}
	labelled := sample(3, 30, leaf, root)
	labelled.Label = map[string][]string{"endpoint": {"/a"}, "many": {"x", "y"}, "both": {"s"}, "bad\xff": {"v\xfe"}}
	labelled.NumLabel = map[string][]int64{"bytes": {512}, "both": {7}, "wait": {5, 6}}
	labelled.NumUnit = map[string][]string{"bytes": {"bytes"}, "wait": {"nanoseconds", "nanoseconds"}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
		TimeNanos: 1_700_000_000_000_000_000, DurationNanos: 10_000_000_000, Comments: []string{"a", "b"}, DropFrames: "^x$",
		Mapping: []*profile.Mapping{m, other}, Function: []*profile.Function{f, g, bad, same},
		Location: []*profile.Location{leaf, root, raw, none, rude},
		Sample: []*profile.Sample{
			sample(1, 10, leaf, root), labelled, sample(2, 20, leaf, root), // the same stack twice
			sample(0, 40, raw), sample(5, 0, none, root), sample(4, 4, rude), sample(6, 6), sample(0, 0, raw, raw, leaf),
		},
	}
}

func TestRules(t *testing.T) {
	var cpu, heap, goroutines bytes.Buffer
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		t.Fatal(err)
	}
	pprof.Do(t.Context(), pprof.Labels("endpoint", "/a"), func(context.Context) { spin(300 * time.Millisecond) })
	pprof.StopCPUProfile()
	pprof.Lookup("allocs").WriteTo(&heap, 0)
	pprof.Lookup("goroutine").WriteTo(&goroutines, 0)
	empty := odd()
	empty.Sample = nil
	for name, p := range map[string]guard.Profile{
		"odd": written(t, odd()), "empty": written(t, empty),
		"cpu":  {ID: "w1", Kind: "cpu", Data: cpu.Bytes()},
		"heap": {ID: "w2", Kind: "heap", Data: heap.Bytes()}, "goroutine": {ID: "w3", Kind: "goroutine", Data: goroutines.Bytes()},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := encode(p)
			if err != nil {
				t.Fatal(err)
			}
			if rules := broken(req); len(rules) > 0 {
				t.Errorf("broken:\n%s", strings.Join(rules, "\n"))
			}
			if _, err := proto.Marshal(req); err != nil {
				t.Error(err)
			}
		})
	}
}

func spin(d time.Duration) {
	n := 0
	for end := time.Now().Add(d); time.Now().Before(end); n++ {
		_ = strings.Repeat("x", n%100)
	}
}

// The check of the rules fires for each of them.
func TestRulesFire(t *testing.T) {
	for want, plant := range map[string]func(r *collector.ExportProfilesServiceRequest){
		"mapping_table[0] is no zero value": func(r *collector.ExportProfilesServiceRequest) {
			r.Dictionary.MappingTable[0].FileOffset = 1
		},
		"link_table[0] is no zero value": func(r *collector.ExportProfilesServiceRequest) {
			r.Dictionary.LinkTable[0] = &profiles.Link{TraceId: make([]byte, 16), SpanId: make([]byte, 8)}
		},
		"stack_table[0] is not there":      func(r *collector.ExportProfilesServiceRequest) { r.Dictionary.StackTable = nil },
		"string_table[0] is not the empty": func(r *collector.ExportProfilesServiceRequest) { r.Dictionary.StringTable[0] = "x" },
		"string_table has duplicates": func(r *collector.ExportProfilesServiceRequest) {
			r.Dictionary.StringTable[2] = r.Dictionary.StringTable[1]
		},
		"function_table[2] is a duplicate": func(r *collector.ExportProfilesServiceRequest) {
			d := r.Dictionary
			d.FunctionTable[2] = d.FunctionTable[1]
		},
		"is outside of its table": func(r *collector.ExportProfilesServiceRequest) { first(r).Samples[0].StackIndex = 1000 },
		"is an orphan": func(r *collector.ExportProfilesServiceRequest) {
			r.Dictionary.StringTable = append(r.Dictionary.StringTable, "orphan")
		},
		"its key is there twice": func(r *collector.ExportProfilesServiceRequest) {
			a := &first(r).AttributeIndices
			*a = append(*a, (*a)[0])
		},
		"a location of a stack is none": func(r *collector.ExportProfilesServiceRequest) { r.Dictionary.StackTable[1].LocationIndices[0] = 0 },
		"profile_id":                    func(r *collector.ExportProfilesServiceRequest) { first(r).ProfileId = make([]byte, 16) },
		"two samples have one identity": func(r *collector.ExportProfilesServiceRequest) {
			p := first(r)
			p.Samples = append(p.Samples, p.Samples[0])
		},
		"a sample has neither values nor times": func(r *collector.ExportProfilesServiceRequest) { first(r).Samples[0].Values = nil },
		"no sample_type":                        func(r *collector.ExportProfilesServiceRequest) { first(r).SampleType = nil },
		"original_payload and its format":       func(r *collector.ExportProfilesServiceRequest) { first(r).OriginalPayload = []byte("x") },
		"resource attribute \"host.name\" is": func(r *collector.ExportProfilesServiceRequest) {
			a := r.ResourceProfiles[0].Resource
			a.Attributes = append(a.Attributes, a.Attributes[0])
		},
		"is no UTF-8": func(r *collector.ExportProfilesServiceRequest) {
			r.ResourceProfiles[0].Resource.Attributes[0].Key = "\xff"
		},
		"function_table[1] has no name": func(r *collector.ExportProfilesServiceRequest) {
			f := r.Dictionary.FunctionTable[1]
			f.NameStrindex, f.SystemNameStrindex, f.FilenameStrindex = 0, 0, 0
		},
	} {
		req, err := encode(written(t, odd()))
		if err != nil {
			t.Fatal(err)
		}
		plant(req)
		if rules := strings.Join(broken(req), "\n"); !strings.Contains(rules, want) {
			t.Errorf("want %q, found\n%s", want, rules)
		}
	}
}

func first(r *collector.ExportProfilesServiceRequest) *profiles.Profile {
	return r.ResourceProfiles[0].ScopeProfiles[0].Profiles[0]
}

// What a message says of a profile is what a person would read in it.
func TestMeaning(t *testing.T) {
	p := written(t, odd())
	req, err := encode(p)
	if err != nil {
		t.Fatal(err)
	}
	d, all := req.Dictionary, req.ResourceProfiles[0].ScopeProfiles[0].Profiles
	if len(all) != 2 || d.StringTable[all[0].SampleType.TypeStrindex] != "cpu" || d.StringTable[all[1].SampleType.UnitStrindex] != "count" {
		t.Fatalf("profiles of %v", all)
	}
	if all[0].TimeUnixNano != 1_700_000_000_000_000_000 || all[0].DurationNano != 10_000_000_000 || all[0].Period != 10_000_000 {
		t.Errorf("times %d, %d, %d", all[0].TimeUnixNano, all[0].DurationNano, all[0].Period)
	}
	sum := int64(0)
	for _, s := range all[0].Samples {
		sum += s.Values[0]
	}
	if sum != 10+30+20+40+4+6 || len(all[0].Samples) != 5 || len(all[1].Samples) != 5 {
		t.Errorf("%d ns in %d samples, %d of the other type", sum, len(all[0].Samples), len(all[1].Samples))
	}
	found := map[string]string{}
	for _, i := range append(all[0].AttributeIndices, all[0].Samples[1].AttributeIndices...) {
		a := d.AttributeTable[i]
		found[d.StringTable[a.KeyStrindex]] = shown(a.Value) + d.StringTable[a.UnitStrindex]
	}
	want := map[string]string{
		"profguard.budget.name": "hot", "profguard.profile.id": "profguard-1.cpu", "profguard.profile.kind": "cpu", "profguard.verdict": "fail",
		"pprof.profile.comment": "[a b]", "pprof.profile.drop_frames": "^x$",
		"endpoint": "/a", "many": "[x y]", "both": "[s 7]", "bad\uFFFD": "v\uFFFD", "bytes": "512By", "wait": "[5 6]ns",
	}
	if !maps.Equal(found, want) {
		t.Errorf("attributes %v, want %v", found, want)
	}
	again, _ := encode(p)
	if !proto.Equal(req, again) {
		t.Error("the same profile makes another message")
	}
}

func shown(v *common.AnyValue) string {
	switch v := v.Value.(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_ArrayValue:
		var all []string
		for _, e := range v.ArrayValue.Values {
			all = append(all, shown(e))
		}
		return fmt.Sprint(all)
	}
	return v.String()
}

// What the exporter makes of a receiver's answers.
func TestAnswers(t *testing.T) {
	partial, _ := proto.Marshal(&collector.ExportProfilesServiceResponse{PartialSuccess: &collector.ExportProfilesPartialSuccess{RejectedProfiles: 2, ErrorMessage: "too old"}})
	for name, tt := range map[string]struct {
		status  int
		body    []byte
		err     string
		refused bool
	}{
		"taken":          {200, nil, "", false},
		"partly":         {200, partial, "2 profiles refused: too old", true},
		"bad request":    {400, []byte("broken"), "400", true},
		"away":           {503, nil, "503", false},
		"no token":       {401, nil, "401", false},
		"another server": {200, []byte("<html>welcome</html>"), "is http", false},
	} {
		t.Run(name, func(t *testing.T) {
			var got collector.ExportProfilesServiceRequest
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				z, err := gzip.NewReader(r.Body)
				if err != nil || r.URL.Path != "/v1development/profiles" || r.Header.Get("X-Token") != "t" || r.Header.Get("OTLP-Profiles-Development-Version") != "1" {
					t.Errorf("%s, %v, %v", r.URL, r.Header, err)
					return
				}
				body, _ := io.ReadAll(z)
				if err := proto.Unmarshal(body, &got); err != nil {
					t.Error(err)
				}
				w.WriteHeader(tt.status)
				w.Write(tt.body)
			}))
			defer server.Close()
			e := &Exporter{Endpoint: server.URL, Client: server.Client(), Header: http.Header{"X-Token": {"t"}}}
			err := e.Export(t.Context(), written(t, odd()))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || errors.Is(err, guard.ErrPermanent) != tt.refused {
				t.Errorf("%v, want %q, refused %t", err, tt.err, tt.refused)
			}
			if rules := broken(&got); len(rules) > 0 {
				t.Errorf("what arrives is broken: %v", rules)
			}
			if e.Client = nil; e.Export(t.Context(), written(t, odd())) == nil {
				t.Error("a certificate that nobody knows is taken")
			}
		})
	}
	e := &Exporter{Endpoint: "collector:4318"}
	if err := e.Validate(); err == nil || !strings.Contains(err.Error(), "otlp.Exporter.Endpoint: expected an address such as http://collector:4318") {
		t.Errorf("Validate: %v", err)
	}
	if err := (*Exporter)(nil).Validate(); err == nil || !strings.Contains(err.Error(), "expected one, found nil") {
		t.Errorf("Validate of nil: %v", err)
	}
	if err := e.Export(t.Context(), guard.Profile{Data: []byte("no profile")}); !errors.Is(err, guard.ErrPermanent) {
		t.Errorf("no profile: %v", err)
	}
	for endpoint, want := range map[string]string{
		"http://c:4318": "http://c:4318/v1development/profiles", "http://c:4318/": "http://c:4318/v1development/profiles", "https://c/otlp/v1development/profiles": "https://c/otlp/v1development/profiles",
	} {
		if got := (&Exporter{Endpoint: endpoint}).url(); got != want {
			t.Errorf("%s: %s, want %s", endpoint, got, want)
		}
	}
}
