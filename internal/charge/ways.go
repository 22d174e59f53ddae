package charge

import "github.com/profguard/profguard/internal/decode"

// A Way is what one sample was charged to: from the entry point down to the function in whose body
// it was taken.
type Way struct {
	Value int64
	// Steps are outermost first. They are valid during the visit.
	Steps []Step
	// Above are the functions on the way in, outermost first, if they were asked for.
	Above []Step
	// Aside is the first function of a sample that is charged to nothing: the runtime's own work,
	// or a server's. There are no Steps then.
	Aside decode.ID
	// Cut says that frames were cut off above, in which other functions may be.
	Cut bool
}

// A Step is a function on a way, by its line.
type Step struct {
	Line  decode.Line
	Entry bool // it is the entry point, which is charged with its own body only
	Own   bool // it is of the program's own module
}

// Ways visits the samples of a query about functions that are charged as [Inner], with the way in of each
// if above says so.
func (c *Counter) Ways(query int, above bool, visit func(Way)) {
	t := c.table
	var lines []decode.Line
	var steps, in []Step
	c.walk(query, func(v int64, s *Stack) {
		lines = lines[:0]
		for _, at := range t.Stacks[t.Samples[s.sample].StackLo:t.Samples[s.sample].StackHi] {
			lines = append(lines, t.Lines[t.Locations[at].LineLo:t.Locations[at].LineHi]...)
		}
		keys := c.keys(&c.queries[query])
		step := func(frame int, entry bool) {
			steps = append(steps, Step{lines[frame], entry, c.isMine(lines[frame].Name)})
		}
		steps = steps[:0]
		entry := -1
		if s.entry >= 0 && (s.handed || !s.cut) {
			entry = int(s.entry)
			step(entry, true)
		}
		charged := false
		for i := len(keys) - 1; i >= 0; i-- {
			if keys[i] < 0 {
				continue
			}
			charged = true
			if frame := s.from + i; frame != entry {
				step(frame, false)
			}
		}
		in = in[:0]
		for i := len(lines) - 1; above && i > entry && entry >= 0; i-- {
			in = append(in, Step{lines[i], false, c.isMine(lines[i].Name)})
		}
		w := Way{Value: v, Above: in, Steps: steps, Cut: s.unknown}
		if !charged {
			w.Steps, w.Aside = nil, s.beginning(c.Names)
		}
		visit(w)
	})
}

// beginning is the function that a stack begins with, beside those that all stacks have.
func (s *Stack) beginning(names *Names) decode.ID {
	for i := len(s.frames) - 1; i >= 0; i-- {
		switch names.symbols.Name(s.frames[i]) {
		case "runtime.goexit", "runtime.mcall", "runtime.systemstack":
		default:
			return s.frames[i]
		}
	}
	return 0
}
