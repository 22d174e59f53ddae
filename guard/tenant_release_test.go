package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/reference"
)

// tenantsOf are the labels of the lines of a deployment, of which one tenant has some more than the others. The last
// three lines have 60, 100 and the extra samples of 400.
func tenantsOf(last string) func() []string {
	return func() (list []string) {
		for i := range 8 {
			list = append(list, fmt.Sprintf(" {tenant=t%d}", i))
		}
		return append(list, "", " {tenant=t7}", " {tenant="+last+"}")
	}
}

// TestTenantsOfReleases: a build that costs one tenant more fires by the reference of the build before, with its function
// of now; so does a tenant that is new, where the build before knew the others. An equal build does not, nor does one
// after a build that kept no values.
func TestTenantsOfReleases(t *testing.T) {
	growth := Config{Budgets: budget.Must("grown: no tenant grows above 5 points per request")}
	for name, tt := range map[string]struct {
		before, now deployment
		was         Config
		want        string // the tenant that fires, "" for none
		reason      string
	}{
		"one costs more": {deployment{version: "v1"}, deployment{version: "v2", extra: 100, tenants: tenantsOf("t3")}, growth, "t3", "tenant t3 costs"},
		"a new one":      {deployment{version: "v1"}, deployment{version: "v2", extra: 100, tenants: tenantsOf("new")}, growth, "new", "nothing before"},
		"equal":          {deployment{version: "v1"}, deployment{version: "v2"}, growth, "", "tenant t"},
		"with a limit only, which is enough to know them": {deployment{version: "v1"}, deployment{version: "v2", extra: 100, tenants: tenantsOf("t3")},
			Config{Budgets: budget.Must("no tenant above 90%")}, "t3", "tenant t3 costs"},
		"an old reference": {deployment{version: "v1"}, deployment{version: "v2", extra: 100, tenants: tenantsOf("new")},
			Config{Budgets: budget.Must("no function above 90%")}, "", "the costs of the values of tenant are unknown before"},
		"nobody had a label": {deployment{version: "v1", tenants: func() []string { return []string{""} }}, deployment{version: "v2", extra: 100, tenants: tenantsOf("new")},
			growth, "", "no sample has the label tenant before"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "dumps")
				if tt.before.tenants == nil {
					tt.before.tenants = tenantsOf("t0")
				}
				if tt.now.tenants == nil {
					tt.now.tenants = tenantsOf("t0")
				}
				tt.before.windows = 30
				deploy(t, dir, tt.before, tt.was, nil)
				w := deploy(t, dir, tt.now, growth, func(g *Guard, w *world) {
					pass(30 * time.Minute)
					if r := g.Status().Budgets[0].Result; !strings.Contains(r.Reason, tt.reason) || tt.want == "" && r.Verdict == budget.Fail || tt.reason[0] != 't' && tt.want == "" && r.Verdict != budget.Inconclusive {
						t.Errorf("%s", r)
					}
				})
				firing := named(w.events, EventFiring)
				switch {
				case tt.want == "" && len(firing) > 0:
					t.Errorf("fires: %s", firing[0].Message)
				case tt.want == "":
				case len(firing) != 1:
					t.Errorf("%d events", len(firing))
				default:
					if o := firing[0].Result.Offenders; len(o) != 1 || o[0].Function != tt.want || o[0].Within.Function == "" {
						t.Errorf("%s", firing[0].Result)
					}
				}
			})
		})
	}
}

// TestHiddenTenantOfReleases: what Export.Label refuses is not in the words about two builds either, and in the reference on
// this disk, which no exporter gets.
func TestHiddenTenantOfReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "dumps")
		growth := Config{Budgets: budget.Must("grown: no tenant grows above 5 points per request"), Export: Export{Label: func(key, value string) bool { return value != "s3cr3t" }}}
		deploy(t, dir, deployment{version: "v1", windows: 30, tenants: tenantsOf("t0")}, growth, nil)
		w := deploy(t, dir, deployment{version: "v2", extra: 100, tenants: tenantsOf("s3cr3t")}, growth, func(g *Guard, w *world) {
			pass(30 * time.Minute)
			if text := g.Status().text() + fmt.Sprintf("%+v", g.Status()); strings.Contains(text, "s3cr3t") || !strings.Contains(text, "(hidden)") {
				t.Errorf("status:\n%s", text)
			}
		})
		firing := named(w.events, EventFiring)
		if text := fmt.Sprintf("%+v", w.events); len(firing) != 1 || strings.Contains(text, "s3cr3t") || !strings.Contains(text, "tenant (hidden) costs") {
			t.Errorf("%d, events:\n%s", len(firing), text)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "profguard", "references", "*"))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if s, err := reference.Decode(new(decode.Decoder), b, "main"); err != nil || s.Pieces.Values["tenant"] == nil {
				t.Errorf("%s: %v", f, err)
			}
		}
	})
}
