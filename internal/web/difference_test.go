package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/webtest"
)

const (
	oldBuild = `cpu 10s
main.main;main.serve;main.valid 400
main.main;main.serve;main.serve.func2;encoding/json.Marshal 600
main.main;main.serve;main.gone 200
main.main;example.com/shop/v1.list 800
`
	// In newBuild main.valid costs twice as much per request, and half as many were done.
	newBuild = `cpu 10s
main.main;main.serve;main.valid;regexp.compile 400
main.main;main.serve;main.serve.func3;encoding/json.Marshal 300
main.main;example.com/shop/v2.list 400
`
)

func pairOf(t testing.TB, now, before string, scale float64) Pair {
	return Pair{Title: "v2 against v1", Now: table(t, now), Before: table(t, before), Scale: scale, Encode: func(old bool) []byte {
		return []byte(fmt.Sprint("before: ", old))
	}}
}

// TestDifference: each frame has what it was worth for the same work, whatever its closures and its package
// are called, and what is not surely different has no colour.
func TestDifference(t *testing.T) {
	// Half the requests; each costs 1.1 times as much.
	f := newDifference(pairOf(t, newBuild, oldBuild, 1.1), "main")
	got := map[string][3]float64{}
	for i := range f.Parent {
		name := "all"
		if i > 0 {
			name = f.Names[f.Name[i]]
		}
		got[name] = [3]float64{f.Value[i] / 1e9, f.Before[i] / 1e9, float64(f.Change[i])}
	}
	for name, want := range map[string][3]float64{
		"all":                      {11, 10, 0},
		"main.valid":               {4, 2, 3},
		"regexp.compile":           {4, 0, 3},
		"encoding/json.Marshal":    {3, 3, 0},
		"example.com/shop/v2.list": {4, 4, 0},
	} {
		if g := got[name]; g[2] != want[2] || g[0] < want[0]-0.01 || g[0] > want[0]+0.01 || g[1] < want[1]-0.01 || g[1] > want[1]+0.01 {
			t.Errorf("%s: now, before and change are %v, want %v", name, g, want)
		}
	}
	if _, there := got["main.gone"]; there || f.Title != "v2 against v1" || f.Total < 1e9 {
		t.Errorf("%+v", f)
	}
	// The clean twin: equal builds have no colours. What got cheaper is blue.
	for i, c := range newDifference(pairOf(t, oldBuild, oldBuild, 1), "").Change {
		if c != 0 {
			t.Errorf("frame %d of equal builds has change %d", i, c)
		}
	}
	if f := newDifference(pairOf(t, oldBuild, newBuild, 1/1.1), ""); f.Change[1] != 0 {
		t.Errorf("main.main has change %d", f.Change[1])
	} else if i := nameAt(f, "main.valid"); f.Change[i] != -2 && f.Change[i] != -3 {
		t.Errorf("main.valid has change %d, want less", f.Change[i])
	}
	for _, p := range []Pair{pairOf(t, newBuild, oldBuild, 0), pairOf(t, newBuild, "cpu 10s\n", 1), pairOf(t, "cpu 10s\n", oldBuild, 1)} {
		if f := newDifference(p, ""); len(f.Change) != len(f.Parent) && len(f.Parent) > 0 {
			t.Errorf("of nothing: %+v", f)
		}
	}
}

// nameAt is the first frame of a function.
func nameAt(f flame, name string) int {
	for i, n := range f.Name {
		if n >= 0 && f.Names[n] == name {
			return i
		}
	}
	return 0
}

// TestReleasePages: the two builds and the last window as they are, drawn, and where there are none.
func TestReleasePages(t *testing.T) {
	with, without := still(nil), still(nil)
	with.Window = func() decode.Source { return decode.Source{Data: packed(t, chainOf("main.main", "main.serve"))} }
	with.Releases = func(_ context.Context, use func(Pair)) bool {
		use(pairOf(t, newBuild, oldBuild, 1.1))
		return true
	}
	ask := func(c Config, path string) (int, string) {
		r := webtest.Ask(New(c), "GET", path)
		return r.StatusCode, webtest.Body(t, r)
	}
	for path, want := range map[string]string{"/before.pb.gz": "before: true", "/now.pb.gz": "before: false", "/release.flame.json": `"change":`, "/window.flame.json": `"main.serve"`, "/window.pb.gz": "\x1f\x8b"} {
		if status, body := ask(with, path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.200q, want %q", path, status, body, want)
		}
		status, body := ask(without, path)
		if strings.HasSuffix(path, ".json") {
			var f flame
			if err := json.Unmarshal([]byte(body), &f); err != nil || status != http.StatusOK || f.Warning == "" || len(f.Parent) != 0 {
				t.Errorf("%s without profiles: %d %q, want a warning", path, status, body)
			}
		} else if status != http.StatusNotFound {
			t.Errorf("%s without profiles: %d %q", path, status, body)
		}
	}
}
