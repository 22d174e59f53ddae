package alert

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/golden"
)

const (
	open = evidence.Inconclusive
	pass = evidence.Pass
	fail = evidence.Fail
)

var states = []State{NoData, Undecided, OK, Pending, Firing}

// at is a window that ends so many minutes after the start, and what it says.
func at(minute float64, f Finding) Finding {
	f.End = time.Duration(minute * float64(time.Minute))
	f.Start = f.End - window
	f.Measured = !f.Idle
	if f.Proven == pass || f.Window == pass && !f.Above() {
		f.Kept = f.End
	}
	return f
}

// within is an hour of windows with nothing to judge but one, and a letter for that.
func within(letter string) string { return strings.Repeat("n", unjudgedPeriods-1) + letter }

// TestEveryTransition walks the product of state, verdict, evidence and rule and
// compares it with a table that a person can check line by line.
func TestEveryTransition(t *testing.T) {
	// What was before: windows that said so, a minute apart, the last a minute ago.
	before := func(windows int, f Finding, r Rule) Alert {
		var a Alert
		for i := range windows {
			f := at(float64(10-windows+i), f)
			a.count(f, r)
		}
		return a
	}
	lasting := Lasting(every, window)
	rules := []struct {
		title string
		rule  Rule
		last  Alert
		age   time.Duration // of the state
	}{
		{"lasting, the first window", lasting, Alert{}, 0},
		{"lasting, after two minutes of failing windows", lasting, before(2, Finding{Window: fail}, lasting), 2 * every},
		{"lasting, after eight minutes of failing windows", lasting, before(8, Finding{Window: fail}, lasting), 8 * every},
		{"lasting, after three minutes of passing windows", lasting, before(3, Finding{Window: pass}, lasting), 3 * every},
		{"lasting, after four minutes without the condition", lasting, before(5, Finding{Idle: true}, lasting), 4 * every},
		{"counted, after two failing windows", Counted(every), before(2, Finding{Window: fail}, Counted(every)), 2 * every},
		{"at once", Rule{Period: every, AtOnce: true, Windows: 3, Time: 3 * every}, Alert{}, 0},
		{"for 3 windows, after two failing ones", For(3, 0, every), before(2, Finding{Window: fail}, For(3, 0, every)), 2 * every},
		{"for 5m, after four failing minutes", For(0, 5*every, every), before(4, Finding{Window: fail}, For(0, 5*every, every)), 4 * every},
		{"for 5m, after five failing minutes", For(0, 5*every, every), before(5, Finding{Window: fail}, For(0, 5*every, every)), 5 * every},
	}
	windows := []struct {
		name string
		f    Finding
	}{
		{"fails", Finding{Window: fail, Value: 1}},
		{"fails, all prove an excess", Finding{Window: fail, Value: 1, Proof: Proof{Evidence: 1}}},
		{"fails, all prove it was over", Finding{Window: fail, Value: 1, Proof: Proof{Proven: pass}}},
		{"above the limit", Finding{Value: 1}},
		{"above the limit, all prove an excess", Finding{Value: 1, Proof: Proof{Evidence: 1}}},
		{"below the limit", Finding{}},
		{"below the limit, evidence rises", Finding{Proof: Proof{Evidence: 0.3}}},
		{"below the limit, all prove it is over", Finding{Proof: Proof{Proven: pass}}},
		{"passes", Finding{Window: pass}},
		{"passes, all prove an excess", Finding{Window: pass, Proof: Proof{Evidence: 1}}},
		{"passes, all prove it is over", Finding{Window: pass, Proof: Proof{Proven: pass}}},
		{"passes, above the limit within the zone", Finding{Window: pass, Value: 1.1, Limit: 1}},
		{"idle", Finding{Idle: true}},
		{"idle, evidence rises", Finding{Idle: true, Proof: Proof{Evidence: 0.3}}},
	}
	var out strings.Builder
	out.WriteString("Each cell is the next state; ! marks an event, with what ended an alert. Columns are the state before.\n")
	for _, r := range rules {
		fmt.Fprintf(&out, "\n== %s\n", r.title)
		w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		fmt.Fprint(w, "window")
		for _, s := range states {
			fmt.Fprintf(w, "\t%s", s)
		}
		fmt.Fprintln(w)
		for _, win := range windows {
			fmt.Fprint(w, win.name)
			for _, s := range states {
				f := at(10, win.f)
				a := r.last
				a.State, a.Since = s, f.End-r.age
				a.measured, a.kept = 0, 0
				if s != NoData {
					a.measured = f.End - every
				}
				if s == OK {
					a.kept = f.End - every
				}
				next, event := a.Next(f, r.rule)
				fmt.Fprintf(w, "\t%s", cell(t, a, next, event, f.End))
			}
			fmt.Fprintln(w)
		}
		w.Flush()
	}
	lines := strings.Split(out.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	golden.Compare(t, "transitions.txt", strings.Join(lines, "\n"))
}

// cell prints a transition, after checking what holds for all of them.
func cell(t *testing.T, before, after Alert, event Event, now time.Duration) string {
	t.Helper()
	moved := before.State != after.State
	if moved && after.Since != now || !moved && after.Since != before.Since {
		t.Errorf("%v -> %v: Since went from %v to %v at %v", before.State, after.State, before.Since, after.Since, now)
	}
	ends := map[Event]string{Passed: "passed", Proven: "proven", Unproven: "unproven", Unjudged: "unjudged"}
	want := after.State.String()
	switch why, isEnd := ends[event]; {
	case isEnd != event.Ends(), (before.State == Firing && moved) != isEnd, (after.State == Firing && moved) != (event == Fired):
		t.Errorf("%v -> %v: told as event %d", before.State, after.State, event)
	case isEnd:
		return want + "! " + why
	case event == Fired:
		return want + "!"
	}
	return want
}

// A story is an alert and the minutes that have passed.
type story struct {
	Alert
	rule   Rule
	minute float64
}

// play steps through windows a minute apart, a letter each: one that fails, one that
// passes, one in which what has no limit is steady, one that is above and one that is below
// the limit, an idle one, one with
// which all prove an excess or growth, one that is below a limit of which they prove an excess,
// one with which all prove that it is over, the same within the zone above the limit, and two with nothing to judge, the second of which
// still has the evidence of those before, and one that passes above the limit. It returns the
// states, a letter each.
func (s *story) play(letters string) string {
	said := map[rune]Finding{
		'f': {Window: fail, Value: 1}, 'p': {Window: pass}, 's': {Window: pass, Value: 300}, 'a': {Value: 1}, 'b': {}, 'i': {Idle: true},
		'E': {Value: 1, Proof: Proof{Evidence: 1}}, 'B': {Limit: 1, Proof: Proof{Evidence: 1}}, 'R': {Proof: Proof{Proven: pass}}, 'G': {Value: 1, Proof: Proof{Proven: fail, Evidence: 1}}, 'Z': {Value: 1.1, Limit: 1, Samples: 10, Proof: Proof{Proven: pass}}, 'n': {}, 'e': {Proof: Proof{Evidence: 0.5}}, 'z': {Window: pass, Value: 1.1, Limit: 1},
	}
	var got strings.Builder
	for _, c := range letters {
		s.minute++
		f := at(s.minute, said[c])
		f.Measured = f.Measured && c != 'n' && c != 'e'
		s.Alert, _ = s.Next(f, s.rule)
		got.WriteByte(s.State.String()[0])
	}
	return got.String()
}

func TestStories(t *testing.T) {
	lasting, counted, atOnce := Lasting(every, window), Counted(every), Lasting(every, window)
	atOnce.AtOnce = true
	each, growth := lasting, lasting
	each.Each, growth.Streams = true, true
	hour := strings.Repeat("f", unjudgedPeriods-1)
	for _, tt := range []struct {
		name            string
		rule            Rule
		windows, states string
	}{
		{"what lasts fires", lasting, "pffffffffpppp", "opppppppffffo"},
		{"a pass begins anew", lasting, "ffffffpffffffff", "ppppppopppppppf"},
		{"so does what is below the limit", lasting, "ffffffbffffffff", "ppppppppppppppf"},
		{"what is above, and idle windows, neither count nor interrupt", lasting, "ffaffiffaaff", "pppppppppppf"},
		{"evidence has to last, too", lasting, "EEEEE", "pppff"},
		{"evidence fires in a window above the limit", lasting, "EEEBBE", "pppppf"},
		{"it ends by proof", lasting, "EEEEaRaR", "pppffouo"},
		{"counted: three windows", counted, "fffaf", "ppfff"},
		{"counted: and three that end it", counted, "fffppbp", "ppffffo"},
		{"what is steady without a limit ends", counted, "fffsssf", "ppfffop"},
		{"idle for five periods", counted, "fffiiiii", "ppfffffn"},
		{"idle for four, and again", counted, "fffiiiifiiii", "ppffffffffff"},
		{"what was idle fires anew, and not at once", counted, "fffiiiiifff", "ppfffffnppf"},
		{"what was idle fires anew", counted, "fffiiiiiiifff", "ppfffffnnnppf"},
		{"what is within the limit leaves a proof as it is", lasting, "nbpbbinb", "nuoooooo"},
		{"what is above it does not", lasting, "pabpR", "ouuoo"},
		{"a pass above the limit is no proof", lasting, "pzbp", "ouuo"},
		{"idle for five periods is no data", lasting, "piiiiib", "ooooono"},
		{"nothing to judge for an hour is none", lasting, "p" + within("n") + "nb", "o" + strings.Repeat("o", unjudgedPeriods-1) + "nno"},
		{"a proof counts for six hours", lasting, "p" + strings.Repeat("b", keptPeriods), strings.Repeat("o", keptPeriods) + "u"},
		{"one hit is proof", atOnce, "pfbRf", "offof"},
		{"nothing to judge for an hour ends it, and it fires anew", counted, "fff" + within("n") + "nfff", "ppf" + hour + "nnppf"},
		{"a sample within the hour does not", counted, "fff" + within("a") + within("a"), "ppf" + hour + "f" + hour + "f"},
		{"what is pending by evidence waits for an hour", lasting, "E" + strings.ReplaceAll(within("e")+"e", "n", "e") + "E", "p" + strings.ReplaceAll(hour, "f", "p") + "nnp"},
		{"proof within the zone is none of one function", lasting, "EEEEZZ", "pppfff"},
		{"it is of all of them", each, "EEEEZ", "pppfo"},
		{"growth ends without proof, other excess does not", growth, "GGGGb", "pppfu"},
		{"what windows in a row have shown does not end for lack of proof", growth, "ffffffffbb", "pppppppfff"},
		{"for lack of proof", lasting, "GGGGbb", "pppfff"},
		{"growth does not end where nothing was measured", growth, "GGGGnnb", "pppfffu"},
		{"for 3 windows", For(3, 0, every), "ffpffEEbf", "ppopppppf"},
		{"for 3 windows that are not in a row", For(3, 0, every), "fbbbbfbbbbffbbbf", "pppuupppuuppppup"},
		{"for 3 windows, with some below the limit between them", For(3, 0, every), "fbbfbabbf", "ppppppppf"},
		{"for 5m, and two windows that are not in a row", For(0, 5*every, every), "fbbbbbf", "pppuuup"},
	} {
		s := story{rule: tt.rule}
		if got := s.play(tt.windows); got != tt.states {
			t.Errorf("%s: windows %s, states %s, want %s", tt.name, tt.windows, got, tt.states)
		}
	}
}

// As many windows in a row within the limit as it takes to fire end the alert of a share if they pass together, unless hits
// may be hidden in them.
func TestCalm(t *testing.T) {
	rule := Lasting(every, window)
	rule.Share = true
	ended := func(r Rule, f Finding) (windows int) {
		a := Alert{State: Firing}
		for ; a.State == Firing && windows < 50; windows++ {
			a, _ = a.Next(at(float64(windows), f), r)
		}
		return windows
	}
	amount := rule
	amount.Share = false
	for name, tt := range map[string]struct {
		rule Rule
		f    Finding
		want int
	}{
		"pass together":         {rule, Finding{Value: 0.05, Limit: 0.2, Samples: 20}, mostWindows},
		"do not":                {rule, Finding{Value: 0.19, Limit: 0.2, Samples: 2}, 50},
		"hits may be cut off":   {rule, Finding{Value: 0.05, Limit: 0.2, Samples: 20, Hidden: true}, 50},
		"an amount, not judged": {amount, Finding{Value: 0.05, Limit: 0.2, Samples: 20}, 50},
	} {
		if got := ended(tt.rule, tt.f); got != tt.want {
			t.Errorf("%s: ends after %d windows, want %d", name, got, tt.want)
		}
	}
}

// An alert that comes back takes longer to end also where no single window has failed.
func TestProofAfterFlapping(t *testing.T) {
	r := Lasting(every, window)
	a := Alert{State: Firing, Since: 10 * every, unsettled: 2 * unsettledFrom, counted: 10 * every}
	for minute := 11; ; minute++ {
		var e Event
		if a, e = a.Next(at(float64(minute), Finding{Limit: 1, Proof: Proof{Proven: pass}}), r); e == None {
			continue
		}
		if e != Proven || minute < 10+2*lastingPeriods {
			t.Errorf("minute %d: event %d, want proof after %d minutes", minute, e, 10+2*lastingPeriods)
		}
		break
	}
}

// Only windows in which the condition does not hold count as idle, not all those with nothing
// to judge before them.
func TestIdleAfterUnjudged(t *testing.T) {
	r := Rule{Windows: 3, Time: 2 * time.Minute, Period: time.Minute}
	var a Alert
	minute := 0.0
	next := func(f Finding) (e Event) {
		minute++
		measured := f.Measured
		f = at(minute, f)
		f.Measured = measured
		a, e = a.Next(f, r)
		return e
	}
	for range 4 {
		next(Finding{Window: fail, Measured: true, Value: 0.5, Limit: 0.2, Samples: 500})
	}
	for range 6 {
		next(Finding{})
	}
	for i := range IdlePeriods {
		if a.Idle.Windows != i {
			t.Errorf("%d idle windows, want %d", a.Idle.Windows, i)
		}
		if e, last := next(Finding{Idle: true}), i == IdlePeriods-1; a.State == Firing && last || e == Unjudged && !last {
			t.Errorf("idle window %d: %v, state %v", i+1, e, a.State)
		}
	}
}

// While windows are lost, a proof does not stand for ever: after sixty periods there is no data,
// but an alert that fires goes on.
func TestWindowsAreLost(t *testing.T) {
	r := Lasting(every, window)
	for letters, want := range map[string]string{"": "no data", "b": "undecided", "p": "ok", "f": "pending", "ffffffffff": "firing"} {
		s := story{rule: r}
		s.play(letters)
		last := time.Duration(len(letters)) * every
		if got, since := s.At(last+59*every, r); got.String() != want || since != s.Since {
			t.Errorf("%q, 59 minutes later: %s since %v, want %s", letters, got, since, want)
		}
		if want != "firing" {
			want = "no data"
		}
		got, since := s.At(last+60*every, r)
		if got.String() != want {
			t.Errorf("%q, an hour later: %s, want %s", letters, got, want)
		}
		if letters != "" && got == NoData && since != last+60*every {
			t.Errorf("%q: no data since %v, want an hour after the last window", letters, since)
		}
	}
}

func TestStateNames(t *testing.T) {
	for s := range Firing + 1 {
		if n := s.String(); n == "" || strings.HasPrefix(n, "State") {
			t.Errorf("state %d has the name %q", int(s), n)
		}
	}
	if got := State(7).String() + State(-1).String(); got != "State(7)State(-1)" {
		t.Errorf("unknown states are %s", got)
	}
}

// Windows that were fed are as many as three periods have. A rule of the user, and one that counts,
// stay as they are.
func TestFed(t *testing.T) {
	lasting := Lasting(time.Minute, 10*time.Second)
	for _, tt := range []struct {
		rule    Rule
		window  time.Duration
		windows int
		time    time.Duration
	}{
		{lasting, 0, 8, 3 * time.Minute},
		{lasting, 10 * time.Second, 8, 3*time.Minute - 2500*time.Millisecond},
		{lasting, 30 * time.Second, 6, 3*time.Minute - 7500*time.Millisecond},
		{lasting, time.Minute, 3, 165 * time.Second},
		{lasting, 5 * time.Minute, 3, 165 * time.Second},
		{For(5, 0, time.Minute), time.Minute, 5, 3 * time.Minute},
		{Counted(time.Minute), time.Minute, 3, 90 * time.Second},
		{Rule{Period: time.Minute}, time.Minute, 0, 0},
	} {
		if r := tt.rule.Fed(tt.window); r.Windows != tt.windows || r.Time != tt.time {
			t.Errorf("%v: %d windows and %v, want %d and %v", tt.window, r.Windows, r.Time, tt.windows, tt.time)
		}
	}
}
