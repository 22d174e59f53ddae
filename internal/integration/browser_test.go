package integration

import (
	"context"
	"flag"
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
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/web"
)

// TestBrowser looks at the debug pages with a real Chromium, one for all of them. With
// -artifacts the screenshots are kept.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser := startBrowser(t)
	t.Run("many budgets", func(t *testing.T) { testManyBudgets(t, browser) })
	t.Run("states", func(t *testing.T) { testStates(t, browser) })
	t.Run("screenshot", func(t *testing.T) { testScreenshot(t, browser) })
	t.Run("release", func(t *testing.T) { testRelease(t, browser) })
	server, dump := pageServer(t)
	t.Run("pages", func(t *testing.T) { testPages(t, browser, server, dump) })
	t.Run("flame graph", func(t *testing.T) { testFlameGraph(t, browser, server, dump) })
}

// The pages are readable in light on a desktop, and in dark on a phone.
func testPages(t *testing.T, browser context.Context, server *httptest.Server, dump string) {
	pages := []struct {
		name, path string
		click      chromedp.CSS
		shows      chromedp.CSS
		flame      bool
	}{
		{"overview", "/debug/profguard/", "", "#dumps + .dim, #dumps ~ .scroll", false},
		{"dump", "/debug/profguard/dumps/" + dump, "", "#flame", true},
		{"live", "/debug/profguard/", "#draw", "#flame", true},
	}
	for _, screen := range []struct {
		scheme, name  string
		width, height int64
	}{{"light", "desktop", 1280, 900}, {"dark", "phone", 390, 844}} {
		for _, p := range pages {
			t.Run(screen.scheme+"/"+screen.name+"/"+p.name, func(t *testing.T) {
				v := openTab(t, browser, server.URL)
				tell(t, v, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: screen.scheme}}})
				v.do(t, chromedp.EmulateViewport(screen.width, screen.height), chromedp.Navigate(server.URL+p.path))
				if p.click != "" {
					// The list of dumps comes last, and moves the button.
					v.do(t, chromedp.WaitVisible(chromedp.CSS("#dumps ~ .scroll")), chromedp.SetValue(chromedp.CSS("#seconds"), "1"))
				}
				for shown := false; p.click != "" && !shown; { // a profile may be lost where the machine is busy, and the page says so
					v.do(t, chromedp.Click(p.click), chromedp.WaitVisible(chromedp.CSS(`#flame, section[aria-labelledby="live"] .warning`)))
					shown = get(t, v, chromedp.Evaluate[bool](`document.querySelector("#flame") !== null`))
				}
				v.do(t, chromedp.WaitVisible(p.shows))
				facts := get(t, v, chromedp.Evaluate[pageFacts](factsScript))
				shoot(t, v)
				v.check(t)
				facts.check(t, screen.scheme, p.flame)
			})
		}
	}
}

// The link to a budget's dump says of which window it is, and leads to its flame graph.
// In the flame graph the offender has a colour of its own. Choosing a frame zooms in,
// the text field finds frames, the arrow keys lead from one to the next.
func testFlameGraph(t *testing.T, browser context.Context, server *httptest.Server, dump string) {
	v := openTab(t, browser, server.URL)
	v.do(t,
		chromedp.EmulateViewport(1280, 900),
		chromedp.Navigate(server.URL+"/debug/profguard/"),
		chromedp.WaitVisible(chromedp.CSS(`a[href="dumps/`+dump+`"]`)))
	said := get(t, v, chromedp.Evaluate[string](`document.querySelector('details.budget a[href^="dumps/"]').parentElement.textContent`))
	if _, of, ok := strings.Cut(said, "last dump, of the window until "); !ok || !strings.HasPrefix(of, "2") || !strings.HasSuffix(of, " UTC") {
		t.Errorf("the link to the dump says %q, and not of which window it is", said)
	}
	v.do(t, chromedp.WaitVisible(chromedp.CSS("#dumps ~ .scroll")))
	if rows := get(t, v, chromedp.Evaluate[string](`document.querySelector("#dumps ~ .scroll").textContent`)); !strings.Contains(rows, "debug-print") || !strings.Contains(rows, "-other-") {
		t.Errorf("the dumps are listed as %q, want that of debug-print and that of another version", rows)
	}
	measure := get(t, v, chromedp.Evaluate[string](`document.querySelector('details.b-firing .measure').textContent`))
	// By chance the last window of a busy machine may be within the limit.
	if value, limit, ok := strings.Cut(strings.Replace(measure, ", above limit ", ", limit ", 1), ", limit "); !ok || value == "" || limit == "" {
		t.Errorf("a budget is measured at %q, want a value and its limit", measure)
	}
	v.do(t,
		chromedp.Click(chromedp.CSS(`a[href="dumps/`+dump+`"]`)),
		chromedp.WaitVisible(chromedp.CSS(".frame.mark")))
	if title := get(t, v, chromedp.AttributeValue(chromedp.CSS(".frame.mark"), "title")).Value; !strings.HasSuffix(title, "\noffender") {
		t.Errorf("the offender's frame says %q", title)
	}
	wide := func() float64 {
		return get(t, v, chromedp.Evaluate[float64](`document.querySelector(".frame.mark").getBoundingClientRect().width`))
	}
	before := wide()
	v.do(t, chromedp.Click(chromedp.CSS(".frame.mark")), chromedp.WaitVisible(chromedp.CSS(".frame.outer")))
	if after := wide(); after < before || after < 1100 {
		t.Errorf("the chosen frame is %.0f pixels wide, before it was %.0f", after, before)
	}
	v.do(t, chromedp.Click(chromedp.CSS("#whole")), chromedp.WaitNotPresent(chromedp.CSS(".frame.outer")))
	v.do(t, chromedp.SendKeys(chromedp.CSS("#find-frame"), "FPRINTF"), chromedp.WaitVisible(chromedp.CSS(".frame.hit")))
	if found := get(t, v, chromedp.Text(chromedp.CSS("#found"))); !strings.Contains(found, "% is in frames") || strings.Contains(found, " 0% ") {
		t.Errorf("the search says %q", found)
	}
	down := get(t, v, chromedp.Evaluate[string](`(() => {
  const root = document.querySelector(".frame.all");
  root.focus();
  root.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true}));
  return document.activeElement.style.top;
})()`))
	if down != "20px" {
		t.Errorf("the key for down leads to the frame at %q, want the second row", down)
	}
	v.check(t)
}

// A hundred budgets are readable, can be searched, and names that were chosen to break
// the page are text in it.
func testManyBudgets(t *testing.T, browser context.Context) {
	const hostile = `</script><img src=x onerror=alert(1)>"' ` + "\u2028\u202egnp.\x00"
	s := shopStatus()
	for i := range 100 - len(s.Budgets) {
		b := s.Budgets[len(s.Budgets)-1]
		b.Name = fmt.Sprintf("goroutines-%d", i)
		b.Result.Budget.Name = b.Name
		s.Budgets = append(s.Budgets, b)
	}
	s.Program, s.Reason = hostile, hostile
	o := &s.Budgets[0].Result.Offenders[0]
	o.Function, o.File, o.Blame.Function = hostile, hostile, hostile
	s.Budgets[0].Result.Reason, s.Budgets[0].Accept, s.Budgets[1].Warning = hostile, hostile, hostile
	server := statusServer(t, s)
	for _, width := range []int64{1280, 390} {
		v := openTab(t, browser, server.URL)
		v.do(t, chromedp.EmulateViewport(width, 900), chromedp.Navigate(server.URL+"/"), chromedp.WaitVisible(chromedp.CSS("#dumps ~ .dim")))
		facts := get(t, v, chromedp.Evaluate[pageFacts](factsScript))
		facts.check(t, "light", false)
		if facts.Budgets != 100 || facts.Images != 0 {
			t.Errorf("%d pixels wide: %d budgets and %d images, want 100 and none", width, facts.Budgets, facts.Images)
		}
		// Closed ones take a line or two each, and the first is what is broken.
		if facts.Height > 100*facts.Closed+3000 || facts.Closed > 140 || !strings.Contains(facts.First, "firing") {
			t.Errorf("%d pixels wide: the page is %d pixels high, a closed budget %d, the first says %q", width, facts.Height, facts.Closed, facts.First)
		}
		if !strings.Contains(facts.First, `</script><img src=x onerror=alert(1)>"' \u2028\u202egnp.\u0000`) {
			t.Errorf("%d pixels wide: the hostile name is not shown as text: %q", width, facts.First)
		}
		v.do(t, chromedp.SendKeys(chromedp.CSS("#find-budget"), "goroutines-42"))
		shown := get(t, v, chromedp.Evaluate[int](`document.querySelectorAll("details.budget:not([hidden])").length`))
		if shown != 1 {
			t.Errorf("%d pixels wide: %d budgets are shown for goroutines-42, want 1", width, shown)
		}
		shoot(t, v)
		v.check(t)
	}
}

// Each state has its word and its look, and no row whose bar is above its limit looks like that of
// a budget that is kept.
func testStates(t *testing.T, browser context.Context) {
	row := func(name string, state guard.State, v budget.Verdict, share float64) guard.BudgetStatus {
		r := budget.Result{Budget: budget.Must(name + ": crypto/tls below 20%")[0], Verdict: v, Value: share, High: share, Limit: 0.2, Unit: "ratio", Samples: 20}
		return guard.BudgetStatus{Name: name, State: state, Since: time.Now(), Result: r}
	}
	s := shopStatus()
	s.Budgets = []guard.BudgetStatus{
		row("kept", guard.StateOK, budget.Pass, 0.1),
		row("unknown", guard.StateUndecided, budget.Inconclusive, 0.1),
		row("blind", guard.StateNoData, budget.Inconclusive, 0),
		row("above-kept", guard.StateOK, budget.Inconclusive, 0.3),
		row("above-unknown", guard.StateUndecided, budget.Inconclusive, 0.3),
		row("above-pending", guard.StatePending, budget.Inconclusive, 0.3),
		row("above-firing", guard.StateFiring, budget.Inconclusive, 0.3),
	}
	server := statusServer(t, s)
	v := openTab(t, browser, server.URL)
	v.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(server.URL+"/"), chromedp.WaitVisible(chromedp.CSS("#dumps ~ .dim")))
	type look struct{ Name, State, Badge, Bar, Draw, Measure, Text string }
	rows := get(t, v, chromedp.Evaluate[[]look](`[...document.querySelectorAll("details.budget")].map(e => {
  const badge = e.querySelector(".badge"), bar = e.querySelector(".bar .value"), c = getComputedStyle(badge);
  return {Name: e.querySelector(".sentence strong").textContent.trim(), State: badge.textContent, Badge: c.backgroundColor + c.boxShadow,
    Bar: bar ? getComputedStyle(bar).fill : "", Draw: e.querySelector(".draw").textContent, Measure: e.querySelector(".measure").textContent, Text: e.textContent};
})`))
	shoot(t, v)
	v.check(t)
	looks, kept := map[string]string{}, ""
	for _, r := range rows {
		if looks[r.State] = r.Badge; r.Name == "kept" {
			kept = r.Bar
		}
	}
	if len(rows) != 7 || len(looks) != 5 || kept == "" {
		t.Fatalf("%d rows, the states look like %q, the bar of the one that is kept like %q", len(rows), looks, kept)
	}
	for state, badge := range looks {
		if state != "ok" && badge == looks["ok"] {
			t.Errorf("%s looks like ok: %s", state, badge)
		}
	}
	for _, r := range rows {
		above := strings.HasPrefix(r.Name, "above")
		if r.Name != "kept" && r.Bar == kept || above != strings.Contains(r.Measure, "above limit") {
			t.Errorf("%s: %s, its bar is %q as of the one that is kept %q; it says %q", r.Name, r.State, r.Bar, kept, r.Measure)
		}
		if r.Draw != "" {
			t.Errorf("%s: it says %q where the bar is", r.Name, r.Draw)
		}
		if r.Name == "above-kept" && !strings.Contains(r.Text, "All windows together prove that the budget is kept.") {
			t.Errorf("%s does not say why it is ok: %s", r.Name, r.Text)
		}
	}
}

var screenshot = flag.Bool("screenshot", false, "write docs/page.png")

// The page of README's service with a broken budget is README's picture. With -screenshot it is
// written to docs/page.png.
func testScreenshot(t *testing.T, browser context.Context) {
	server := statusServer(t, shopStatus())
	v := openTab(t, browser, server.URL)
	v.do(t, chromedp.EmulateViewport(1000, 606), chromedp.Navigate(server.URL+"/"), chromedp.WaitVisible(chromedp.CSS("#dumps ~ .dim")))
	png := get(t, v, chromedp.CaptureScreenshot())
	v.check(t)
	if len(png) > 150<<10 {
		t.Errorf("the screenshot has %d KiB, want at most 150", len(png)>>10)
	}
	if *screenshot {
		if err := os.WriteFile("../../docs/page.png", png, 0o644); err != nil {
			t.Error(err)
		}
	}
}

// shopHistory are the last windows of the budgets of shopStatus, which only the page has.
var shopHistory = map[string][]past{}

type past struct {
	Value   float64        `json:"value"`
	Verdict budget.Verdict `json:"verdict"`
}

// statusDocument is status.json.
func statusDocument(s guard.Status) any {
	type row struct {
		guard.BudgetStatus
		History []past `json:"history,omitempty"`
	}
	rows := []row{}
	for _, b := range s.Budgets {
		rows = append(rows, row{b, shopHistory[b.Name]})
	}
	return struct {
		guard.Status
		Budgets []row `json:"budgets"`
	}{s, rows}
}

// shopStatus is the status of a service with one broken budget.
func shopStatus() guard.Status {
	start := time.Now().Add(-3*time.Hour - 20*time.Minute)
	frame := func(function, file string, line int, share float64) budget.Frame {
		return budget.Frame{Function: function, File: file, Line: line, Share: share}
	}
	b := func(sentence string, state guard.State, since time.Duration, r budget.Result, history ...float64) guard.BudgetStatus {
		r.Budget = budget.Must(sentence)[0]
		s := guard.BudgetStatus{Name: r.Budget.Name, State: state, Since: time.Now().Add(-since), Result: r, Verdicts: map[string]int64{"pass": 200}}
		if s.Name == "" {
			s.Name = r.Budget.String()
		}
		shopHistory[s.Name] = nil
		for _, v := range history {
			m := past{v, budget.Pass}
			if v > r.Limit {
				m.Verdict = budget.Fail
			}
			shopHistory[s.Name] = append(shopHistory[s.Name], m)
		}
		return s
	}
	caller := frame("example.com/shop.valid", "/src/shop/checkout.go", 39, 0.3)
	hot := b("no function above 20% cumulative except encoding/json when process above 0.1 cores", guard.StateFiring, 4*time.Minute, budget.Result{
		Verdict: budget.Fail, Value: 0.303, Low: 0.245, High: 0.366, Limit: 0.2, Unit: "ratio", Samples: 1184, Hits: 359, Over: 1,
		Reason: "regexp.MustCompile at 30.32%, surely above 24.51% (1184 samples)",
		Offenders: []budget.Offender{{
			Frame: frame("regexp.MustCompile", "/usr/local/go/src/regexp/regexp.go", 314, 0.303), Low: 0.245, High: 0.366,
			Blame: caller, Callers: []budget.Frame{caller, frame("example.com/shop.checkout", "/src/shop/checkout.go", 24, 0.6)},
		}},
	}, .08, .09, .07, .08, .1, .09, .08, .09, .29, .31, .3, .303)
	hot.Verdicts = map[string]int64{"pass": 196, "fail": 4}
	hot.Accept = "no function above 20% cumulative except encoding/json, regexp.MustCompile when process above 0.1 cores"
	absent := b("portlist absent", guard.StateOK, 3*time.Hour, budget.Result{Verdict: budget.Pass, Limit: 0, Unit: "ratio", Reason: "not linked: no function of the program matches portlist"})
	request := b("checkout: process below 2ms per request", guard.StateOK, 3*time.Hour, budget.Result{Verdict: budget.Pass, Value: 0.0012, Low: 0.0012, High: 0.0012, Limit: 0.002, Unit: "seconds", Reason: "the process at 1.2ms, the limit is 2ms"},
		.0008, .00082, .00078, .00081, .0008, .00079, .0008, .00081, .00115, .0012, .00119, .0012)
	heap := b("heap below 512MiB", guard.StateOK, 3*time.Hour, budget.Result{Verdict: budget.Pass, Value: 148 << 20, Low: 148 << 20, High: 148 << 20, Limit: 512 << 20, Unit: "bytes", Reason: "heap at 148MiB, the limit is 512MiB"},
		1.2e8, 1.5e8, 1.3e8, 1.6e8, 1.4e8, 1.5e8)
	goroutines := b("goroutines below 5000", guard.StateOK, 3*time.Hour, budget.Result{Verdict: budget.Pass, Value: 132, Low: 132, High: 132, Limit: 5000, Unit: "count", Reason: "goroutines at 132, the limit is 5000"},
		130, 140, 133, 129, 132)
	return guard.Status{
		Program: "example.com/shop on web-1", State: "running", Started: start, Good: time.Now(),
		Window:  guard.WindowStatus{Start: time.Now().Add(-19 * time.Second), Elapsed: 10 * time.Second, Outcome: "ok", Samples: 1184, Cores: 1.19, GC: 0.03, RSS: 231 << 20, Heap: 148 << 20, Goroutines: 132},
		Next:    time.Now().Add(41 * time.Second),
		Windows: map[string]int{"ok": 200, "busy": 1}, Budgets: []guard.BudgetStatus{hot, absent, request, heap, goroutines},
		CPU: 4 * time.Second, CostShare: 0.0012,
	}
}

// statusServer serves the page of a status, without a guard.
func statusServer(t *testing.T, s guard.Status) *httptest.Server {
	server := httptest.NewServer(web.New(web.Config{
		Status: func() any { return statusDocument(s) }, Budgets: func() string { return "" }, Dumps: func() *dumps.Store { return nil },
		Running: t.Context(), Panicked: func() { t.Error("a page has panicked") },
	}))
	t.Cleanup(server.Close)
	return server
}

// shoot keeps a screenshot of the whole page, with -artifacts. Without, nobody would see
// it, and it costs the browser as much as all else about a page.
func shoot(t *testing.T, v *tab) {
	t.Helper()
	if asked := flag.Lookup("test.artifacts"); asked == nil || asked.Value.String() != "true" {
		return
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), fmt.Sprintf("page-%d.png", v.shots)), get(t, v, chromedp.FullScreenshot(100)), 0o644); err != nil {
		t.Error(err)
	}
	v.shots++
}

// pageFacts is what a script finds out about a page. It runs from outside: the
// page's policy allows only its own.
type pageFacts struct {
	Title, Lang, Background string
	H1, Scripts             int
	Overflow                int     // pixels that the page is wider than the screen
	FlameWidth, FlameHeight float64 // as laid out
	Frames, Named           int
	Budgets, Images         int
	Height, Closed          int    // of the page and of a budget that is closed, in pixels
	First                   string // the text of the first budget
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
  for (const e of document.querySelectorAll(".frame")) {
    const r = contrast(getComputedStyle(e).color, getComputedStyle(e).backgroundColor);
    if (r < 4.5) low.push(e.className + " " + r.toFixed(2));
  }
  const unnamed = [];
  for (const e of document.querySelectorAll("a, button, input, [role=img], [role=region], [role=group], section, nav")) {
    const by = e.getAttribute("aria-labelledby");
    const name = e.getAttribute("aria-label") || by && document.getElementById(by)?.textContent || e.labels?.[0]?.textContent || e.textContent || e.title;
    if (!name || !name.trim()) unnamed.push(e.outerHTML.slice(0, 120));
  }
  const flame = document.querySelector(".flame")?.getBoundingClientRect();
  return {Title: document.title, Lang: document.documentElement.lang, Background: getComputedStyle(document.body).backgroundColor,
    H1: document.querySelectorAll("h1").length, Scripts: document.scripts.length,
    Overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    FlameWidth: flame?.width || 0, FlameHeight: flame?.height || 0,
    Frames: document.querySelectorAll(".frame").length, Named: [...document.querySelectorAll(".frame")].filter(e => e.textContent).length,
    Budgets: document.querySelectorAll("details.budget").length, Images: document.images.length, Height: document.documentElement.scrollHeight,
    Closed: Math.round([...document.querySelectorAll("details.budget:not([open])")].at(-1)?.getBoundingClientRect().height || 0),
    First: document.querySelector("details.budget")?.textContent || "",
    LowContrast: [...new Set(low)], Unnamed: unnamed};
})()`

func (f pageFacts) check(t *testing.T, scheme string, flame bool) {
	t.Helper()
	if !strings.Contains(f.Title, "profguard") || f.Lang != "en" || f.H1 != 1 || f.Scripts != 1 {
		t.Errorf("title %q, language %q, %d h1, %d scripts; want a title with profguard, en, 1, 1", f.Title, f.Lang, f.H1, f.Scripts)
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
	shots      int
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
	// Each of them takes a second or two on a machine that is not overloaded, and more than
	// a minute on one that is.
	ctx, cancel = context.WithTimeout(ctx, 4*time.Minute)
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
	// What another version has written is listed as well, with what the page finds in it.
	dir := t.TempDir()
	other := filepath.Join(dir, "profguard", "profguard-00000001", "profguard-20261121T091500.123Z-other-00000001-00000002.")
	if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"json": `{"budget": "other", "offenders": [{"name": "f"}], "files": 7}`, "cpu.pb.gz": "x"} {
		if err := os.WriteFile(other+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := guard.Start(guard.Config{
		Every: time.Second, Window: time.Second, DumpDir: dir, DumpLimits: guard.DumpLimits{Age: 100 * 365 * 24 * time.Hour},
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
		if b := s.Budgets[1]; b.Dump != "" && b.State == guard.StateFiring {
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
		case <-time.After(2 * time.Millisecond): // the browser needs the cores, too
		}
		for range 10 {
			lines = append(lines[:0], answer(n))
		}
	}
}

func answer(n int) string {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "request %d: %v %s\n", n, []int{i, n}, time.Duration(i))
	}
	return strings.ToUpper(b.String())
}
