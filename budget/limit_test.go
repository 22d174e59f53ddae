package budget_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/process"
)

// hostile writes a profile: functions with names of their own, one location for
// each with so many lines, samples with stacks of so many frames.
func hostile(t *testing.T, functions, lines, samples, frames int) []byte {
	t.Helper()
	field := func(b []byte, n protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), content)
	}
	number := func(b []byte, n protowire.Number, v int) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v))
	}
	var b []byte
	for _, s := range []string{"", "samples", "count", "cpu", "nanoseconds"} {
		b = field(b, 6, []byte(s))
	}
	b = field(b, 1, number(number(nil, 1, 1), 2, 2))
	b = field(b, 1, number(number(nil, 1, 3), 2, 4))
	for i := range functions {
		b = field(b, 6, fmt.Appendf(nil, "example.com/app/pkg%d.F%d", i%97, i))
		b = field(b, 5, number(number(nil, 1, i+1), 2, 5+i))
		line := field(nil, 4, number(nil, 1, i+1))
		b = field(b, 4, append(number(nil, 1, i+1), bytes.Repeat(line, lines)...))
	}
	for i := range samples {
		var stack []byte
		for k := range frames {
			stack = protowire.AppendVarint(stack, uint64((i*frames+k)%functions+1))
		}
		b = field(b, 2, field(field(nil, 1, stack), 2, []byte{1, 1}))
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// inEach are budgets that each look at a part of their own.
func inEach(n int) Set {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("no function above 20%% in /F.*%d/", i))
	}
	return Must(lines...)
}

// exceptEach are budgets that each ask about all but one function.
func exceptEach(n int) Set {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("no function above 20%% except F%d", i))
	}
	return Must(lines...)
}

// belowEach are budgets with patterns of their own, which match every function.
func belowEach(n int) Set {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("b%d: /F|x%d/ below 5%%", i, i))
	}
	return Must(lines...)
}

// lowest has n budgets that most functions of a large profile are over.
func lowest(n int) Set {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("no function above 0.000%d%%", 100+i))
	}
	return Must(lines...)
}

// TestFault_70_JudgeReader: a few bytes can ask for as much work as they like, with
// frames times budgets, frames times lines, or names times budgets. What is beyond
// the bounds ends in an error, and what is just within them costs at most 80 MiB
// and, on a machine that is not much slower than usual, 2 s.
func TestFault_70_JudgeReader(t *testing.T) {
	if testing.Short() {
		t.Skip("measures CPU and memory, which the race detector multiplies")
	}
	const (
		most    = 80 << 20
		longest = 10 * time.Second // of CPU; slow machines included
	)
	low := Must("no function above 0.0001%", "/./ below 0.0001%", "no package above 0.0001%")
	for _, c := range []struct {
		name                              string
		functions, lines, samples, frames int
		set                               Set
		refused                           string // what the error says there is too much of
	}{
		{"frames and budgets", 10, 1, 730, 4096, inEach(600), "2990080 frames times"},
		{"frames and budgets, just", 10, 1, 730, 4096, inEach(20), ""},
		{"depth", 10, 1, 1, 5_000_000, inEach(1), "frames in one stack"},
		{"lines in one stack", 1, 100_000, 3000, 1, inEach(1), "frames in one stack"},
		{"lines in many stacks", 1, 4096, 100_000, 1, inEach(1), "409600000 frames"},
		{"lines in many stacks, just", 1, 4096, 730, 1, inEach(20), ""},
		{"stacks", 10_000, 1, 50_000, 59, inEach(20), ""},
		{"functions and budgets", 20_000, 1, 30_000, 3, exceptEach(20), "more than 300,000 sums"},
		{"functions and budgets, just", 100_000, 1, 150_000, 3, inEach(3), ""},
		{"all functions are offenders", 60_000, 1, 60_000, 10, low, ""},
		{"offenders of many budgets", 60_000, 1, 60_000, 10, lowest(10), "more than 300000 functions are near"},
		{"frames and patterns", 10, 1, 1, 4000, belowEach(2000), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := hostile(t, c.functions, c.lines, c.samples, c.frames)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := process.ProcessCPU()
			_, err := c.set.JudgeReader(struct{ io.Reader }{bytes.NewReader(data)}, Facts{})
			took := process.ProcessCPU() - start
			runtime.ReadMemStats(&after)
			spent := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d KiB: %v of CPU, %d MiB: %v", len(data)>>10, took, spent>>20, err)
			if spent > most {
				t.Errorf("allocated %d MiB, want at most %d", spent>>20, most>>20)
			}
			if took > longest {
				t.Errorf("took %v of CPU, want 2s, and in no case more than %v", took, longest)
			}
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("error %v, want one about %q", err, c.refused)
			}
		})
	}
}

// What the judgement of a profile holds at a time is at most 80 MiB, also where it allocates
// more: with many functions that are over the limits, whose paths are listed one by one.
func TestFault_70_JudgeReaderHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, which the race detector multiplies")
	}
	const most = 80 << 20
	set := Must("no function above 0.0001%", "/./ below 0.0001%", "no package above 0.0001%")
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // so that the heap is little more than what is held
	data := hostile(t, 60_000, 1, 120_000, 20)
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	held := before.HeapAlloc
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for now := before; ; time.Sleep(time.Millisecond) {
			select {
			case <-done:
				return
			default:
				runtime.ReadMemStats(&now)
				held = max(held, now.HeapAlloc)
			}
		}
	}()
	_, err := set.JudgeReader(struct{ io.Reader }{bytes.NewReader(data)}, Facts{})
	close(done)
	<-stopped
	if held -= before.HeapAlloc; err != nil || held > most {
		t.Errorf("it holds %d MiB, %v; want at most %d MiB, and no error", held>>20, err, most>>20)
	}
}

// Regular expressions on long names are limited by the bytes that they read, and cost next to
// nothing where a name lacks a text that they need.
func TestFault_89_LongNames(t *testing.T) {
	if testing.Short() {
		t.Skip("measures CPU, which the race detector multiplies")
	}
	const longest = 10 * time.Second // of CPU, where 2 s are promised; slow machines included
	named := func(n, length int) []byte {
		var text strings.Builder
		text.WriteString("cpu 10s\n")
		for i := range n {
			fmt.Fprintf(&text, "main.main;main.serve;example.com/app/%s.F%d 1\n", strings.Repeat("x", length), i)
		}
		return encode(t, folded.Must(text.String()))
	}
	needing := func(n int) Set { // their text is in no name
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf("/[a-z]+.*Handler%d.*x$/ below 5%%", i))
		}
		return Must(lines...)
	}
	for _, c := range []struct {
		name          string
		names, length int
		set           Set
		refused       bool
	}{
		{"600 on a few very long names", 100, 15_000, expressions(600, false), true},
		{"100 on 5,000 names", 5_000, 40, expressions(100, false), false},
		{"600 with a text of their own, on 3,000 long names", 3_000, 200, needing(600), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := named(c.names, c.length)
			start := process.ProcessCPU()
			_, err := c.set.JudgeReader(bytes.NewReader(data), Facts{})
			took := process.ProcessCPU() - start
			t.Logf("%v of CPU: %v", took, err)
			if took > longest {
				t.Errorf("took %v of CPU, want 2s, and in no case more than %v", took, longest)
			}
			if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "name packages and functions instead of writing regular expressions") {
				t.Errorf("refused %t, want %t: %v", err != nil, c.refused, err)
			}
		})
	}
}
