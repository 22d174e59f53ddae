// Command gen writes the profiles in the directory above it: small ones that
// have everything which profiles of a live Go process rarely have at once.
//
//	go run ./testdata/gen testdata
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen directory")
		os.Exit(2)
	}
	for name, p := range map[string]*profile.Profile{"odd": odd(1), "odd-sparse-ids": odd(1 << 45), "idle": idle()} {
		var gz, raw bytes.Buffer
		if err := p.Write(&gz); err != nil {
			fatal(err)
		}
		if err := p.WriteUncompressed(&raw); err != nil {
			fatal(err)
		}
		for file, data := range map[string][]byte{name + ".pb.gz": gz.Bytes(), name + ".pb": raw.Bytes()} {
			if err := os.WriteFile(filepath.Join(os.Args[1], file), data, 0o644); err != nil {
				fatal(err)
			}
		}
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "gen:", err)
	os.Exit(1)
}

// idle has types and no samples.
func idle() *profile.Profile {
	return &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        10_000_000,
		TimeNanos:     1_700_000_000_000_000_000,
		DurationNanos: 10_000_000_000,
	}
}

// odd has ids that are multiples of step, inlined frames, recursion, labels of
// every sort, negative values, functions and locations without names.
func odd(step uint64) *profile.Profile {
	maps := []*profile.Mapping{
		{ID: step, Start: 0x400000, Limit: 0x800000, File: "/usr/bin/server", HasFunctions: true},
		{ID: 2 * step, Start: 0x7f0000000000, Limit: 0x7f0000100000, File: "/usr/lib/libc.so.6/"},
		{ID: 3 * step, Start: 0x7f1000000000, Limit: 0x7f1000100000},
	}
	var funcs []*profile.Function
	for i, name := range []string{"main.main", "main.(*T[go.shape.int]).Meth", "gopkg.in/yaml%2ev3.X", "", "_Cfunc_x"} {
		funcs = append(funcs, &profile.Function{
			ID: uint64(i+1) * step, Name: name, SystemName: name, Filename: fmt.Sprintf("/src/f%d.go", i%2), StartLine: int64(i),
		})
	}
	lines := func(fs ...int) []profile.Line {
		var ls []profile.Line
		for i, f := range fs {
			ls = append(ls, profile.Line{Function: funcs[f], Line: int64(10 + i), Column: 3})
		}
		return ls
	}
	locs := []*profile.Location{
		{Mapping: maps[0], Line: lines(0)},
		{Mapping: maps[0], Line: lines(2, 1)}, // inlined
		{Mapping: maps[1]},                    // "[libc.so.6]"
		{Mapping: maps[1], Line: lines(3)},    // the same, by way of a nameless function
		{Mapping: maps[2]},                    // "<unknown>"
		{},                                    // the same
		{Mapping: maps[0], Line: lines(4), IsFolded: true},
	}
	for i, l := range locs {
		l.ID, l.Address = uint64(i+1)*step, uint64(0x400000+16*i)
	}
	stack := func(ls ...int) []*profile.Location {
		var s []*profile.Location
		for _, l := range ls {
			s = append(s, locs[l])
		}
		return s
	}
	p := idle()
	p.DefaultSampleType = "cpu"
	p.Comments = []string{"a comment"}
	p.DropFrames = "runtime.*"
	p.DocURL = "https://example.com"
	p.Mapping, p.Location, p.Function = maps, locs, funcs
	p.Sample = []*profile.Sample{
		{Location: stack(1, 1, 0, 1, 0), Value: []int64{3, 30}, Label: map[string][]string{"endpoint": {"/a"}, "two": {"x", "y"}}},
		{Location: stack(2, 3, 4, 5, 6), Value: []int64{1, 10}, NumLabel: map[string][]int64{"bytes": {512}}, NumUnit: map[string][]string{"bytes": {"bytes"}}},
		{Location: stack(3, 0), Value: []int64{-2, -20}},
		{Value: []int64{5, 50}},
		{Location: stack(0), Value: []int64{1 << 62, 1 << 62}},
	}
	return p
}
