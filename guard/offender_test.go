package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
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
		if err := json.Unmarshal(bytes.SplitN(lines.Bytes(), []byte("\n"), 3)[1], &line); err != nil || line.Offender != first || !strings.Contains(line.Msg, first) {
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

// noting is a service in which so many of 100 decodings are for a debug handler, which gets each
// note by itself, and the others for two that get one.
func noting(debug int) string {
	const serve = "net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*server)."
	const decode = ";main.(*Store).Get@/src/svc/store.go:33;encoding/json.Unmarshal@/go/src/encoding/json/decode.go:98;encoding/json.(*decodeState).object "
	rest := 100 - debug
	return fmt.Sprint("cpu 10s\n",
		serve, "debugState@/src/svc/debug.go:10", decode, 7*debug, "\n",
		serve, "get@/src/svc/get.go:5", decode, 7*(rest-rest/2), "\n",
		serve, "list@/src/svc/list.go:7", decode, 7*(rest/2), "\n",
		serve, "list@/src/svc/list.go:9;strings.Contains 150\nruntime.gcBgMarkWorker 150\n")
}

// TestOwner: whoever hears of a broken budget hears whose it is, if nearly all of it is one
// function's. What is offered to accept it accepts no other fault.
func TestOwner(t *testing.T) {
	for name, tt := range map[string]struct {
		debug         int
		owner, except string
	}{
		"one handler makes it expensive": {95, "main.(*server).debugState", "encoding/json.Unmarshal from main.(*server).debugState"},
		"three handlers share it":        {40, "", "encoding/json.Unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = func(int) profiler.Window { return cpuWindow(noting(tt.debug)) }
				var lines bytes.Buffer
				p, registry := &provider{}, prometheus.NewPedanticRegistry()
				cfg := dumping(t, "x: no function above 20% for 1 windows")
				cfg.LoggerProvider, cfg.Logger, cfg.Registerer = p, slog.New(slog.NewJSONHandler(&lines, nil)), registry
				g := w.start(t, cfg)
				initials(t, g, 1)
				saved(t, g)
				owns := func(where string, o budget.Offender) {
					t.Helper()
					at := budget.Frame{}
					if tt.owner != "" {
						at = budget.Frame{Function: tt.owner, File: "/src/svc/debug.go", Line: 10}
					}
					if got := o.Owner; o.Function != "encoding/json.Unmarshal" || got.Function != at.Function || got.File != at.File || got.Line != at.Line {
						t.Errorf("%s: the owner of %s is %+v, want %+v", where, o.Function, got, at)
					}
				}
				says := func(where, text string) {
					t.Helper()
					if want := ", nearly all of it in main.(*server).debugState, svc/debug.go:10"; strings.Contains(text, want) != (tt.owner != "") {
						t.Errorf("%s says %q, want %q in it: %t", where, text, want, tt.owner != "")
					}
				}

				e := firings(w)[0]
				owns("the event", e.Result.Offenders[0])
				says("the event", e.Message)
				_, records := p.seen()
				attributes := map[string]string{}
				records[0].WalkAttributes(func(a attribute.KeyValue) bool {
					attributes[string(a.Key)] = a.Value.String()
					return true
				})
				if got := attributes["profguard.owner.code.function.name"]; got != tt.owner {
					t.Errorf("the record has the owner %q, want %q", got, tt.owner)
				}
				var line struct{ Msg, Accept string } // behind that of Start
				if err := json.Unmarshal(bytes.SplitN(lines.Bytes(), []byte("\n"), 3)[1], &line); err != nil || line.Accept != "except "+tt.except {
					t.Errorf("the line of the log offers %q, %v, want except %s", line.Accept, err, tt.except)
				}
				says("the log", line.Msg)
				info, _, err := storeOf(g).List(1)
				if err != nil {
					t.Fatal(err)
				}
				owns("the sidecar", standsIn(t, sidecar(t, info[0]).Budget).Result.Offenders[0])
				var doc Status
				if err := json.Unmarshal([]byte(webtest.Body(t, webtest.Ask(g.Handler(), "GET", "/status.json"))), &doc); err != nil {
					t.Fatal(err)
				}
				owns("status.json", doc.Budgets[0].Result.Offenders[0])
				if series := scrape(t, registry, "text/plain"); strings.Contains(series, `owner_file="svc/debug.go:10",owner_function="main.(*server).debugState",value=""} 1`) != (tt.owner != "") {
					t.Errorf("the series of the offender has not the owner %q:\n%s", tt.owner, series)
				}
				g.Stop()

				judged := func(debug int, sentence string) budget.Verdict {
					var profile bytes.Buffer
					if err := folded.Must(noting(debug)).Write(&profile); err != nil {
						t.Fatal(err)
					}
					results, err := budget.Must(sentence).JudgeReader(&profile, budget.Facts{})
					if err != nil {
						t.Fatal(err)
					}
					return results[0].Verdict
				}
				accept := attributes["profguard.accept"]
				if v := judged(tt.debug, accept); v != budget.Pass {
					t.Errorf("%s: %v of the profile that it was offered for", accept, v)
				}
				if v := judged(0, accept); v != budget.Fail && tt.owner != "" {
					t.Errorf("%s: %v where other handlers decode as much", accept, v)
				}
			})
		})
	}
}
