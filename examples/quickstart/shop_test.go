package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/failure"
	"github.com/profguard/profguard/guard"
)

// The budget that the service declares stands in its test, too.
func TestCheckout(t *testing.T) {
	if testing.Short() {
		t.Skip("what is not decided in 5 seconds passes under -short")
	}
	set := budget.Must("fmt.Fprintf below 10% in main.(*shop).ServeHTTP")
	checkout := func(s *shop) func(context.Context) {
		return func(context.Context) {
			s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/checkout", nil))
		}
	}
	fixed, forgotten := newShop(), newShop()
	fixed.debug.Store(false)
	guard.Check(t, set, checkout(fixed))
	said := failure.Of(func(tb guard.TB) { guard.Check(tb, set, checkout(forgotten)) })
	for _, want := range []string{"FAIL fmt.Fprintf below 10%", "(*shop).ServeHTTP", fmt.Sprintf("shop.go:%d", printLine(t))} {
		if !strings.Contains(said, want) {
			t.Errorf("with the print it does not say %q:\n%s", want, said)
		}
	}
}
