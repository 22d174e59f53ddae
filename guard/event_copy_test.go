package guard

import (
	"bytes"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// The race detector sees it if a callback's events are anybody else's, too.
func TestCallbackChangesItsEvents(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("b")
		var log bytes.Buffer
		cfg := w.quiet(Config{
			Budgets: budget.Must("x: fmt.Println below 20% for 1 windows"), Window: 10 * second, Every: 10 * second,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		told := 0
		cfg.OnEvent = func(e Event) {
			for i := range e.Result.Offenders {
				o := &e.Result.Offenders[i]
				o.Function, o.File, o.Blame.File = "redacted", "redacted", "redacted"
				for j := range o.Callers {
					o.Callers[j].Function = "redacted"
				}
				told++
			}
		}
		g, err := start(cfg, "a test", w.seams(), func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		pass(11 * second)
		o := g.Status().Budgets[0].Result.Offenders
		g.Stop()
		if told == 0 || len(o) == 0 || o[0].Function != "fmt.Println" || len(o[0].Callers) == 0 || o[0].Callers[0].Function == "redacted" {
			t.Errorf("told of %d offenders; the status has %+v", told, o)
		}
		if !strings.Contains(log.String(), "offender=fmt.Println") {
			t.Errorf("the log says %s", &log)
		}
	})
}

// Whatever a result refers to is copied: a field that is added is looked at here.
func TestCloneResult(t *testing.T) {
	r := budget.Result{
		Budget:    budget.Budget{Where: map[string]string{"k": "v"}, Except: []string{"x"}},
		Offenders: []budget.Offender{{Callers: make([]budget.Frame, 1), Callees: make([]budget.Frame, 1)}},
	}
	c := cloneResult(r)
	if !reflect.DeepEqual(c, r) {
		t.Errorf("the copy is %+v, want %+v", c, r)
	}
	c.Budget.Where["k"], c.Budget.Except[0] = "", ""
	c.Offenders[0].Callers[0].Line, c.Offenders[0].Callees[0].Line, c.Offenders[0].Line = 1, 1, 1
	if o := r.Offenders[0]; r.Budget.Where["k"] == "" || r.Budget.Except[0] == "" || o.Line+o.Callers[0].Line+o.Callees[0].Line != 0 {
		t.Errorf("what was done to the copy shows in %+v", r)
	}
	var refer []string
	for _, of := range []reflect.Type{reflect.TypeFor[budget.Result](), reflect.TypeFor[budget.Budget](), reflect.TypeFor[budget.Offender](), reflect.TypeFor[budget.Frame]()} {
		for i := range of.NumField() {
			switch of.Field(i).Type.Kind() {
			case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
				refer = append(refer, of.Field(i).Name)
			}
		}
	}
	slices.Sort(refer)
	if want := []string{"Callees", "Callers", "Except", "Offenders", "Where"}; !slices.Equal(refer, want) {
		t.Errorf("the fields %v refer to something, and %v are copied", refer, want)
	}
}

// To write a profile changes it, so that one that is the host's and the guard's
// would be a data race.
func TestHostWritesItsBaseline(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		baseline := folded.Must(good)
		g := w.start(t, Config{
			Budgets: budget.Must("no function grows above 5 points"), Window: 10 * second, Every: 10 * second, Baseline: baseline,
		})
		var writer sync.WaitGroup
		done := make(chan struct{})
		writer.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				var b bytes.Buffer
				if err := baseline.Write(&b); err != nil {
					t.Error(err)
				}
				time.Sleep(second) // the clock stands still while somebody works
			}
		})
		pass(35 * second)
		if err := g.SetBudgets(budget.Must("no function grows above 6 points")); err != nil {
			t.Error(err)
		}
		pass(10 * second)
		if r := g.Status().Budgets[0].Result; g.Status().Windows["ok"] < 3 || strings.Contains(r.Reason, "baseline:") {
			t.Errorf("%v: %s", r.Verdict, r.Reason)
		}
		close(done)
		writer.Wait()
		g.Stop()
	})
}
