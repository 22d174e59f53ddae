package integration

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/web"
)

const shopNow = `cpu 60s
main.main;net/http.(*conn).serve;example.com/shop.checkout@/src/shop/checkout.go:24;encoding/json.Marshal 920
main.main;net/http.(*conn).serve;example.com/shop.checkout@/src/shop/checkout.go:39;example.com/shop.valid;regexp.MustCompile;regexp.compile 950
main.main;net/http.(*conn).serve;example.com/shop.checkout@/src/shop/checkout.go:30;example.com/shop.price 680
main.main;net/http.(*conn).serve;example.com/shop.search@/src/shop/search.go:12;strings.Index 500
runtime.gcBgMarkWorker 410
`

// testRelease looks at the page of a build that is compared with the one before: the table of functions,
// the largest functions of the last window, its flame graph, and commands to copy.
func testRelease(t *testing.T, browser context.Context) {
	s := shopStatus()
	s.Build = guard.Build{Version: "v1.42.0", Revision: "abc1234def", Go: "go1.27.4"}
	s.Release = &guard.Release{
		Now: s.Build, Before: guard.Build{Version: "v1.41.3", Revision: "def5678abc", Go: "go1.27.4"},
		Message: "v1.42.0 (abc1234) costs 1.8% more CPU per request than v1.41.3 (def5678) (+0.2% to +3.4%), after 3460 samples and 40000 requests",
		Unit:    "request", Known: true, Growth: 0.018, Low: 0.002, High: 0.034, Samples: 3460,
		Functions: []guard.ReleaseFunction{
			{Function: "regexp.MustCompile", Change: "more", Now: 2.375e-4, Points: .279, Low: .24, High: .31, File: "/src/shop/checkout.go", Line: 39},
			{Function: "example.com/shop.search", Change: "less", Now: 1.25e-4, Before: 3.5e-4, Points: -.265, Low: -.3, High: -.22, File: "/src/shop/search.go", Line: 12},
			{Function: "example.com/shop.price", Was: "example.com/shop.total", Change: "moved", Now: 1.7e-4, Before: 0, Points: .2, Low: .15, High: .25},
			{Function: "encoding/json.Marshal", Change: "same", Now: 2.3e-4, Before: 2.25e-4, Points: .006, Low: -.02, High: .03},
		},
	}
	table := func(text string) *decode.Table {
		made, err := new(decode.Decoder).Profile(folded.Must(text))
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	now := table(shopNow)
	server := httptest.NewServer(web.New(web.Config{
		Status: func() any { return statusDocument(s) }, Budgets: func() string { return "" }, Dumps: func() *dumps.Store { return nil }, Module: "example.com/shop",
		Running: t.Context(), Panicked: func() { t.Error("a page has panicked") },
		Window: func() decode.Source { return decode.Source{Made: now} },
	}))
	t.Cleanup(server.Close)
	for _, screen := range []struct {
		scheme        string
		width, height int64
	}{{"light", 1280, 900}, {"dark", 1280, 900}, {"light", 390, 844}, {"dark", 390, 844}} {
		t.Run(fmt.Sprintf("%s-%d", screen.scheme, screen.width), func(t *testing.T) {
			v := openTab(t, browser, server.URL)
			tell(t, v, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: screen.scheme}}})
			v.do(t, chromedp.EmulateViewport(screen.width, screen.height), chromedp.Navigate(server.URL+"/"),
				chromedp.WaitVisible(chromedp.CSS("#dumps ~ .dim")), chromedp.WaitVisible(chromedp.CSS("#largest")))
			text := get(t, v, chromedp.Evaluate[string](`document.querySelector("main").textContent`))
			for _, want := range []string{
				s.Release.Message, "v1.41.3 def5678abc go1.27.4", "regexp.MustCompile", "+27.9 (+24.0 to +31.0)", "238 µs", "shop/checkout.go:39", "was example.com/shop.total",
				"go tool pprof -http=: -normalize -diff_base '" + server.URL + "/before.pb.gz' '" + server.URL + "/now.pb.gz'",
				"go tool pprof -http=: '" + server.URL + "/window.pb.gz'", "firing since 2", "9.0% before (median of 8 windows)", "strings.Index",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%s, %d pixels wide: the page has no %q", screen.scheme, screen.width, want)
				}
			}
			v.do(t, chromedp.Click(chromedp.CSS("#draw-window")), chromedp.WaitVisible(chromedp.CSS(".frame.own")))
			facts := get(t, v, chromedp.Evaluate[pageFacts](factsScript))
			shoot(t, v)
			facts.check(t, screen.scheme, true)
			v.check(t)
		})
	}
}
