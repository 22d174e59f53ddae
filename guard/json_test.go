package guard

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/webtest"
)

// TestStatusIsReadBack: a client that reads status.json has the Status of the guard, and one that
// gets an event as JSON has the Event.
func TestStatusIsReadBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("gbbbg")
		g := w.start(t, Config{
			Budgets: append(budget.Default(), budget.Must("hot: fmt.Println below 20% for 2 windows", "no function above 20% where a=b", "goroutines below 1", "goroutines below 5000 for 5m")...),
			Every:   10 * second, Window: 10 * second,
		})
		for range 6 {
			pass(10 * second)
			var got Status
			text := webtest.Body(t, webtest.Ask(g.Handler(), "GET", "/status.json"))
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.Status(), got, cmpopts.IgnoreUnexported(BudgetStatus{}), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s (-written +read):\n%s", text, diff)
			}
		}
		g.Stop()
		if len(firings(w)) == 0 {
			t.Error("no budget has fired")
		}
		for _, e := range w.events {
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var got Event
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-written +read):\n%s", data, diff)
			}
		}
	})
}

// TestStatusOfALaterVersion: what this version does not know is no reason to read nothing.
func TestStatusOfALaterVersion(t *testing.T) {
	const sentence = "x: latency of /checkout below 20ms at p99"
	const text = `{"state": "hibernating", "new": 1, "budgets": [{"name": "x", "state": "likely",
		"result": {"budget": "` + sentence + `", "verdict": "likely", "value": 0.3, "unit": "furlongs"}}]}`
	var s Status
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	b := s.Budgets[0]
	if s.State != "hibernating" || b.State != StateNoData || b.Result.Verdict != budget.Inconclusive || b.Result.Value != 0.3 {
		t.Errorf("read as %+v", s)
	}
	if b.Result.Budget.String() != sentence || b.Result.Budget.Validate() == nil {
		t.Errorf("its budget is %q, which is valid: %t", b.Result.Budget, b.Result.Budget.Validate() == nil)
	}
}

// TestNamesInJSON: a field has the name in JSON that it has in Go.
func TestNamesInJSON(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(of.Elem())
		case reflect.Struct:
			if seen[of] || of == reflect.TypeFor[time.Time]() || of == reflect.TypeFor[budget.Budget]() {
				return
			}
			seen[of] = true
			for f := range of.Fields() {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if want := underscored(f.Name); f.IsExported() && !f.Anonymous && name != want && name != "-" {
					t.Errorf("%v.%s is %q in JSON, want %q", of, f.Name, name, want)
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[Status]())
	walk(reflect.TypeFor[Event]())
	if len(seen) < 7 {
		t.Errorf("looked at %v only", seen)
	}
}

// underscored is paused_until for PausedUntil, and cpu for CPU.
func underscored(name string) string {
	var b strings.Builder
	for i, r := range name {
		if lower := i > 0 && name[i-1] >= 'a'; lower && r < 'a' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}
