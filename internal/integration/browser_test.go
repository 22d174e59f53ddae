package integration

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

// TestPagesInBrowser looks at the debug pages with a real Chromium: in light and
// dark, on a desktop and on a phone, without scripts. With -artifacts the
// screenshots are kept.
func TestPagesInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser := startBrowser(t)
	server, dump := pageServer(t)
	pages := []struct {
		name, path string
		shows      chromedp.CSS
	}{
		{"overview", "/debug/profguard/", "article.budget.b-firing"},
		{"dump", "/debug/profguard/dumps/" + dump, "svg.flame rect"},
		{"zoomed", "/debug/profguard/dumps/" + dump + "?at=0.0", "svg.flame rect"},
		{"live", "/debug/profguard/flame?seconds=1", "svg.flame rect"},
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, screen := range []struct {
			name          string
			width, height int64
		}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
			for _, p := range pages {
				t.Run(scheme+"/"+screen.name+"/"+p.name, func(t *testing.T) {
					v := openTab(t, browser, server.URL)
					tell(t, v, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
						Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
					tell(t, v, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
					v.do(t,
						chromedp.EmulateViewport(screen.width, screen.height),
						chromedp.Navigate(server.URL+p.path),
						chromedp.WaitVisible(p.shows))
					facts := get(t, v, chromedp.Evaluate[pageFacts](factsScript))
					shot := get(t, v, chromedp.FullScreenshot(100))
					file := filepath.Join(t.ArtifactDir(), "page.png")
					if err := os.WriteFile(file, shot, 0o644); err != nil {
						t.Error(err)
					}
					v.check(t)
					facts.check(t, scheme, p.shows != "article.budget.b-firing")
				})
			}
		}
	}
}

// Frames are links: choosing one draws it by itself, and the way back is shown.
func TestFlameGraphInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser := startBrowser(t)
	server, dump := pageServer(t)
	v := openTab(t, browser, server.URL)
	v.do(t,
		chromedp.EmulateViewport(1280, 900),
		chromedp.Navigate(server.URL+"/debug/profguard/"),
		chromedp.Click(chromedp.CSS(`a[href="dumps/`+dump+`"]`)),
		chromedp.WaitVisible(chromedp.CSS("svg.flame")))
	frame := get(t, v, chromedp.Evaluate[struct{ X, Y float64 }](frameScript))
	v.do(t,
		chromedp.MouseClickXY(frame.X, frame.Y),
		chromedp.WaitVisible(chromedp.CSS("ol.way")))
	at := get(t, v, chromedp.Location())
	way := get(t, v, chromedp.Text(chromedp.CSS("ol.way")))
	v.do(t,
		chromedp.Click(chromedp.CSS(`ol.way a[href="?#flame"]`)),
		chromedp.WaitNotPresent(chromedp.CSS("ol.way")))
	if !strings.Contains(at, "?at=") || !strings.Contains(way, "all") {
		t.Errorf("a frame led to %s, with the way %q", at, way)
	}
	v.check(t)
}

// frameScript says where the third frame is, once it is on the screen.
const frameScript = `(() => {
  const frame = document.querySelectorAll("svg.flame a")[2].querySelector("rect");
  frame.scrollIntoView({block: "center"});
  const r = frame.getBoundingClientRect();
  return {X: r.x + 5, Y: r.y + r.height / 2};
})()`

// pageFacts is what a script finds out about a page. It runs from outside: the
// page itself has none, and allows none.
type pageFacts struct {
	Title, Lang, Background string
	H1, Scripts             int
	Overflow                int     // pixels that the page is wider than the screen
	FlameWidth, FlameHeight float64 // as laid out
	Frames, Named           int
	LowContrast, Unnamed    []string
}

const factsScript = `(() => {
  const lum = c => { const v = c.match(/[\d.]+/g).slice(0, 3).map(x => { x /= 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4 });
    return .2126 * v[0] + .7152 * v[1] + .0722 * v[2] };
  const contrast = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + .05) / (y + .05) };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c && !/, 0\)$/.test(c)) return c } return "rgb(255, 255, 255)" };
  const low = [];
  for (const e of document.querySelectorAll("p, span, code, dt, dd, th, td, a, h1, h2, h3, li, summary, strong, label, button")) {
    if (!e.childNodes.length || e.closest("svg")) continue;
    const r = contrast(getComputedStyle(e).color, ground(e));
    if (r < 4.5) low.push(e.tagName + "." + e.className + " " + r.toFixed(2));
  }
  for (const e of document.querySelectorAll("svg.flame text")) {
    const r = contrast(getComputedStyle(e).fill, getComputedStyle(e.parentElement.querySelector("rect")).fill);
    if (r < 4.5) low.push("frame " + e.parentElement.getAttribute("class") + " " + r.toFixed(2));
  }
  const unnamed = [];
  for (const e of document.querySelectorAll("a, button, input, [role=img], [role=region], [role=group], section, nav")) {
    const by = e.getAttribute("aria-labelledby");
    const name = e.getAttribute("aria-label") || by && document.getElementById(by)?.textContent || e.labels?.[0]?.textContent || e.textContent;
    if (!name || !name.trim()) unnamed.push(e.outerHTML.slice(0, 120));
  }
  const flame = document.querySelector("svg.flame")?.getBoundingClientRect();
  return {Title: document.title, Lang: document.documentElement.lang, Background: getComputedStyle(document.body).backgroundColor,
    H1: document.querySelectorAll("h1").length, Scripts: document.scripts.length,
    Overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    FlameWidth: flame?.width || 0, FlameHeight: flame?.height || 0,
    Frames: document.querySelectorAll("svg.flame rect").length, Named: document.querySelectorAll("svg.flame text").length,
    LowContrast: [...new Set(low)], Unnamed: unnamed};
})()`

func (f pageFacts) check(t *testing.T, scheme string, flame bool) {
	t.Helper()
	if !strings.Contains(f.Title, "profguard") || f.Lang != "en" || f.H1 != 1 || f.Scripts != 0 {
		t.Errorf("title %q, language %q, %d h1, %d scripts; want a title with profguard, en, 1, 0", f.Title, f.Lang, f.H1, f.Scripts)
	}
	if light := f.Background == "rgb(255, 255, 255)"; light != (scheme == "light") {
		t.Errorf("the background is %s in %s: is the style sheet blocked?", f.Background, scheme)
	}
	if f.Overflow > 0 {
		t.Errorf("the page is %d pixels wider than the screen", f.Overflow)
	}
	if flame && (f.FlameWidth < 300 || f.FlameHeight < 60 || f.Frames < 5 || f.Named < 3) {
		t.Errorf("the flame graph has %.0f x %.0f pixels, %d frames, %d with names", f.FlameWidth, f.FlameHeight, f.Frames, f.Named)
	}
	if len(f.LowContrast) > 0 {
		t.Errorf("contrast below 4.5: %q", f.LowContrast)
	}
	if len(f.Unnamed) > 0 {
		t.Errorf("without a name for those who cannot see: %q", f.Unnamed)
	}
}

// tab is a tab of a browser, with what it has asked for and complained about.
type tab struct {
	ctx    context.Context
	origin string

	mu         sync.Mutex
	complaints []string
	strangers  []string
	requests   int
}

// startBrowser starts the browser that tabs are opened in.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	chromium := need(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

func openTab(t *testing.T, browser context.Context, origin string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	// Each of them takes a second or two on a machine that is not overloaded.
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	v := &tab{ctx: ctx, origin: origin}
	err := chromedp.Listen(ctx, func(event any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			v.complaints = append(v.complaints, fmt.Sprintf("console.%s", e.Type))
		case *runtime.EventExceptionThrown:
			v.complaints = append(v.complaints, e.ExceptionDetails.Text)
		case *cdplog.EventEntryAdded:
			v.complaints = append(v.complaints, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		case *network.EventRequestWillBeSent:
			v.requests++
			if url := e.Request.URL; !strings.HasPrefix(url, origin+"/") && !strings.HasPrefix(url, "data:") {
				v.strangers = append(v.strangers, url)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	tell(t, v, network.Enable, network.EnableParams{})
	tell(t, v, cdplog.Enable, cdp.Empty{})
	return v
}

// do takes steps, get one that has an answer, tell sends a command.
func (v *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(v.ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func get[T any](t *testing.T, v *tab, a chromedp.Action[T]) T {
	t.Helper()
	value, err := chromedp.Run(v.ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func tell[P, R any](t *testing.T, v *tab, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(v.ctx, command, params); err != nil {
		t.Fatal(err)
	}
}

func (v *tab) check(t *testing.T) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.complaints) > 0 {
		t.Errorf("the browser complains: %q", v.complaints)
	}
	if len(v.strangers) > 0 {
		t.Errorf("requests to others: %q", v.strangers)
	}
	if v.requests == 0 {
		t.Error("no request was seen: the test looks at nothing")
	}
}

// pageServer is a server with a guard that has something to show: a budget that
// is broken, with a dump, one that is kept, one that can never tell anything.
func pageServer(t *testing.T) (server *httptest.Server, dump string) {
	t.Helper()
	g, err := guard.Start(guard.Config{
		Every: time.Second, Window: time.Second, DumpDir: t.TempDir(),
		Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
		Budgets: budget.Must(
			"goroutines below 5000",
			"debug-print: no function above 20% cumulative",
			"heap below 512MiB",
			"example.com/no/such/package below 5% cumulative",
			"process below 64 cores",
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { printALot(stop) })
	t.Cleanup(func() {
		close(stop)
		wg.Wait()
	})
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		s := g.Status()
		if b := s.Budgets[1]; b.Dump != "" && b.State == "firing" {
			dump = b.Dump
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no dump of a firing budget within two minutes: %+v", s)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/profguard/", http.StripPrefix("/debug/profguard", g.Handler()))
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, dump
}

// printALot is what the budget is about: a debug print in a loop.
func printALot(stop <-chan struct{}) {
	var lines []string
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		lines = append(lines[:0], answer(n))
	}
}

func answer(n int) string {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "request %d: %v %s\n", n, []int{i, n}, time.Duration(i))
	}
	return strings.ToUpper(b.String())
}
