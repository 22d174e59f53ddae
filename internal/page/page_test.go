package page

import (
	"crypto/sha256"
	"encoding/base64"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/golden"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// overview is a page with something of everything; name stands for all that
// others choose.
func overview(name string) Overview {
	return Overview{
		Program: name + " on web-1", Now: noon, Started: noon.Add(-3 * time.Hour), State: "running", Reason: name,
		Budgets: []Budget{
			{
				Name: name, Sentence: "no function above 20% cumulative", State: "firing", Since: noon.Add(-5 * time.Minute), Verdict: "fail",
				Value: 0.71, Low: 0.68, High: 0.74, Limit: 0.2, Unit: "ratio", Samples: 990, Reason: name,
				Verdicts: []Count{{"fail", 5}, {"pass", 170}}, History: []float64{0.1, 0.12, math.NaN(), 0.5, 0.71},
				Offenders: []Offender{{
					Place: Place{name, name + ".go", 313}, Value: 0.71, Low: 0.68, High: 0.74, Unit: "ratio",
					Blame: Place{"main.(*Server).page", "/src/server.go", 46}, In: []Place{{name, "", 0}}, Out: []Place{{"os.(*File).Write", "", 0}},
				}},
				Over: 4, Dump: "profguard-20261121T115500.000Z-x-00000000-00000000",
			},
			{Sentence: name + " absent", State: "inactive", Since: noon.Add(-3 * time.Hour), Warning: name},
			{
				Sentence: "goroutines below 5000", State: "inactive", Since: noon.Add(-3 * time.Hour), Verdict: "pass",
				Value: 132, Low: 132, High: 132, Limit: 5000, Unit: "count", Reason: "132 goroutines",
			},
		},
		More:    3,
		Window:  Window{Start: noon.Add(-time.Minute), Length: 10 * time.Second, Outcome: "stolen", Reason: name, Early: true, Samples: 990, Cores: 0.99, GC: 0.02, RSS: 30 << 20, Heap: 8 << 20, Goroutines: 132},
		Windows: []Count{{"busy", 2}, {"ok", 173}},
		Cost:    Cost{CPU: 1500 * time.Millisecond, Share: 0.0013},
		Losses:  []Loss{{"events dropped", nil}, {"panics", []Count{{name, 1}}}},
		Dumps: []Dump{
			{ID: "profguard-20261121T115500.000Z-x-00000000-00000000", Budget: name, Time: noon.Add(-5 * time.Minute), Bytes: 34567, Verdict: "fail", Value: "71.0%", Top: name},
			{ID: "profguard-20261121T105500.000Z-x-00000000-00000000", Budget: "x", Time: noon.Add(-65 * time.Minute), Bytes: 5, Broken: name},
		},
		DumpNote: name, Live: true, Seconds: 10, MaxSeconds: 60,
	}
}

func profilePage(t *testing.T, name string) Profile {
	tab := tableOf(t, chainOf("main.main", name, "os.(*File).Write"))
	return Profile{
		Title: name, Home: "../", Facts: []Fact{{"budget", name}}, Files: []File{{name, "x/y.json"}}, Note: name,
		Offenders: []Offender{{Place: Place{Name: name}, Value: 0.5, Unit: "ratio", Blame: Place{Name: name + " page.go:46"}}},
		Flame:     NewFlame(tab, "main", Path{0, 0}), Top: Top(tab, 10),
	}
}

func render(t *testing.T, name string) (overviewPage, dumpPage string) {
	t.Helper()
	p := New()
	a, err := p.Overview(overview(name))
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Profile(profilePage(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(a), string(b)
}

// withoutStyle leaves the style sheet out of golden files: it has one of its own.
func withoutStyle(html string) string { return strings.Replace(html, style, "", 1) }

func TestGoldenPages(t *testing.T) {
	a, b := render(t, "fmt.Println")
	golden.Compare(t, *update, "overview.html", withoutStyle(a))
	golden.Compare(t, *update, "profile.html", withoutStyle(b))
	empty, err := New().Overview(Overview{State: "stopped", Now: noon, DumpNote: "none"})
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, *update, "stopped.html", withoutStyle(string(empty)))
}

var tag = regexp.MustCompile(`<[^>]*>`)

// skeleton is the tags of a document, with the values of attributes that hold
// text taken out.
func skeleton(html string) []string {
	tags := tag.FindAllString(withoutStyle(html), -1)
	for i, s := range tags {
		name, _, _ := strings.Cut(strings.Trim(s, "<>"), " ")
		// Attributes are compared by their names.
		var names []string
		for _, m := range regexp.MustCompile(`([a-z:-]+)="[^"]*"`).FindAllStringSubmatch(s, -1) {
			names = append(names, m[1])
		}
		tags[i] = name + " " + strings.Join(names, " ")
	}
	return tags
}

// Whatever names are, the document has the tags and attributes that it has with
// tame ones.
func TestPagesAreInert(t *testing.T) {
	tameA, tameB := render(t, "fmt.Println")
	for _, name := range hostile {
		if name == "" {
			continue // leaves out what has no name
		}
		a, b := render(t, name)
		if diff := cmp.Diff(skeleton(tameA), skeleton(a)); diff != "" {
			t.Errorf("overview with %.60q (-tame +hostile):\n%s", name, diff)
		}
		if diff := cmp.Diff(skeleton(tameB), skeleton(b)); diff != "" {
			t.Errorf("profile with %.60q (-tame +hostile):\n%s", name, diff)
		}
		for _, bad := range []string{"\u2028", "\u2029", "\u202e", "\x00", "<script", "ZgotmplZ"} {
			if strings.Contains(a+b, bad) {
				t.Errorf("%q in a page with %.60q", bad, name)
			}
		}
	}
}

// The policy allows nothing but the style sheet, so nothing else may be there.
func TestPolicy(t *testing.T) {
	a, b := render(t, "fmt.Println")
	for _, html := range []string{a, b} {
		_, rest, _ := strings.Cut(html, "<style>")
		sheet, _, _ := strings.Cut(rest, "</style>")
		sum := sha256.Sum256([]byte(sheet))
		if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(New().Policy(), "'sha256-"+hash+"'") {
			t.Errorf("the policy does not allow the page's style sheet, sha256-%s: %s", hash, New().Policy())
		}
		html = withoutStyle(html)
		for _, bad := range []string{"<script", "style=", " on", "http:", "https:", "src=", "@import", "url("} {
			if i := strings.Index(strings.ReplaceAll(html, `xmlns="http://www.w3.org/2000/svg"`, ""), bad); i >= 0 && bad != " on" {
				t.Errorf("%q in the page", bad)
			}
		}
		if m := regexp.MustCompile(`<[^>]* on[a-z]+=`).FindString(html); m != "" {
			t.Errorf("inline event handler: %s", m)
		}
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m 1s", 3*time.Hour + 5*time.Minute: "3h 5m", 50 * time.Hour: "2d 2h",
	} {
		if got := Ago(d); got != want {
			t.Errorf("Ago(%v) = %q, want %q", d, got, want)
		}
	}
}
