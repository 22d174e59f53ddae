package budget_test

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/profguard/profguard/budget"
)

// Three ways to write a middleware.

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Logged", "yes")
		next.ServeHTTP(w, r)
	})
}

type authorised struct{ next http.Handler }

func (a authorised) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		a.next.ServeHTTP(w, r)
	}
}

func direct(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Direct", "yes")
		next(w, r)
	}
}

// TestProgram_directMiddleware shows a limit of what names can tell. Middlewares
// that call the next function without ServeHTTP in between look like a handler
// that calls a function: the first is the entry point, what it calls counts in
// full. The deepest offender is the handler all the same, and "except" with the
// handler's name settles it.
func TestProgram_directMiddleware(t *testing.T) {
	serve(t, direct(direct(evenHandler)))
	r := judgeLive(t, spread)
	wantVerdict(t, r, Fail)
	if len(r.Offenders) == 0 || !strings.HasSuffix(r.Offenders[0].Function, "budget_test.evenHandler") {
		t.Errorf("the offender is not the handler:\n%s", r)
	}
	if *everyProgram {
		r = judgeLive(t, spread+" except budget.evenHandler")
		wantVerdict(t, r, Pass)
	}
}
