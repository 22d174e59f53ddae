package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/webtest"
)

// compiling is a program that compiles an expression in each request: four functions of
// one path are above 20%, and main.list beside them.
func compiling() string {
	text := "cpu 10s\nmain.main;main.serve;main.checkout@checkout.go:39;regexp.MustCompile;regexp.Compile;regexp.compile@regexp.go:168 400\n" +
		"main.main;main.serve;main.list 300\n"
	for i := range 10 {
		text += fmt.Sprintf("main.main;main.serve;main.part%d 30\n", i)
	}
	return text
}

// TestOneOffender: whoever hears of a broken budget hears of the same function first.
func TestOneOffender(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = func(int) profiler.Window { return cpuWindow(compiling()) }
		var lines bytes.Buffer
		p := &provider{}
		cfg := dumping(t, "x: no function above 20% for 1 windows")
		cfg.LoggerProvider, cfg.Logger = p, slog.New(slog.NewJSONHandler(&lines, nil))
		g := w.start(t, cfg)
		initials(t, g, 1)
		saved(t, g)
		const first, at = "regexp.MustCompile", "40.00%"

		r := g.Status().Budgets[0].Result
		if r.Offenders[0].Function != first || !strings.HasPrefix(r.Reason, first+" at "+at) || r.Value != r.Offenders[0].Share {
			t.Errorf("the result names another:\n%s", r)
		}
		if got := r.Offenders[1].Function; got != "main.list" {
			t.Errorf("the second is %s: callers that have nothing of their own are not named", got)
		}
		if b := r.Offenders[0].Blame; b.Function != "main.checkout" || b.Line != 39 || b.Share != r.Value {
			t.Errorf("blame %+v", b)
		}
		if e := firings(w)[0]; !strings.Contains(e.Message, first) || e.Result.Offenders[0].Function != first {
			t.Errorf("the event names another: %s", e.Message)
		}
		_, records := p.seen()
		records[0].WalkAttributes(func(a attribute.KeyValue) bool {
			if a.Key == "code.function.name" && a.Value.AsString() != first {
				t.Errorf("the record names %s", a.Value.AsString())
			}
			return true
		})
		var line struct{ Msg, Offender string }
		if err := json.Unmarshal(bytes.SplitN(lines.Bytes(), []byte("\n"), 2)[0], &line); err != nil || line.Offender != first || !strings.Contains(line.Msg, first) {
			t.Errorf("the line of the log names %q, %v: %s", line.Offender, err, line.Msg)
		}
		info, _, err := storeOf(g).List(1)
		if err != nil || standsIn(t, sidecar(t, info[0]).Budget).Result.Offenders[0].Function != first {
			t.Errorf("the sidecar names %+v, %v", info, err)
		}
		var doc Status
		if err := json.Unmarshal([]byte(webtest.Body(t, webtest.Ask(g.Handler(), "GET", "/status.json"))), &doc); err != nil || doc.Budgets[0].Result.Offenders[0].Function != first {
			t.Errorf("status.json names %+v, %v", doc, err)
		}
		g.Stop()
	})
}
