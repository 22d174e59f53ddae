package scaffold

import "testing"

func TestStarted(t *testing.T) {
	for name, want := range map[string]Goroutine{
		"github.com/profguard/profguard/guard.start.func2":            Ours,
		"github.com/profguard/profguard/internal/hub.(*Hub).run":      Ours,
		"github.com/profguard/profguard/internal/dump.(*Writer).run":  Ours,
		"runtime/pprof.profileWriter":                                 Ours,
		"github.com/profguard/profguard/guard.(*sink).run":            Lent,
		"github.com/profguard/profguard/guard.(*counter).answer":      Lent,
		"github.com/profguard/profguard/guard.runWork":                Theirs,
		"github.com/profguard/profguard/guard.TestStart":              Theirs,
		"github.com/profguard/profguardian/guard.(*sink).run":         Theirs,
		"example.com/github.com/profguard/profguard/internal/hub.Run": Theirs,
		"net/http.(*conn).serve":                                      Theirs,
		"main.main":                                                   Theirs,
		"":                                                            Theirs,
	} {
		if got := Started(name); got != want {
			t.Errorf("Started(%q) is %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]bool{
		"github.com/profguard/profguard/guard.call":   true,
		"github.com/profguard/profguard/guard.caller": false,
		"main.call": false,
	} {
		if Lends(name) != want {
			t.Errorf("Lends(%q) is %v", name, !want)
		}
	}
}
