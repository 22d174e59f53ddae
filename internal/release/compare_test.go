package release

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/evidence"
)

func TestRegressionIsNamed(t *testing.T) {
	for _, test := range []struct {
		name, frame, below, want, per string
		points                        float64
	}{
		{"own code", "main.sum", "", "main.sum", "request", 0.1},
		{"a new function", "main.(*Server).cart", ";main.audit", "main.audit", "request", 0.1},
		{"a new door", "main.cart.step3", ";regexp.MustCompile;regexp.compile", "regexp.MustCompile", "request", 0.1},
		{"large", "main.valid", "", "main.valid", "request", 0.3},
		{"without a unit", "main.sum", "", "main.sum", "", 0.3},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			before := shop().run(t, r, hour)
			now := shop().dearer(test.points, test.frame, test.below).run(t, r, halfHour)
			c := compare(t, before, now, test.per)
			if got := first(c); got != test.want || c.Verdict() != evidence.Fail {
				t.Errorf("named %q, want %q: %s", got, test.want, show(c))
			}
			if f := find(t, c, test.want); f.Points.Low > test.points || f.Points.High < test.points {
				t.Errorf("%s", show(c))
			}
			// The clean twin.
			if c := compare(t, before, shop().run(t, r, halfHour), test.per); first(c) != "" || c.Verdict() == evidence.Fail {
				t.Errorf("named %q of an equal release: %s", first(c), show(c))
			}
		})
	}
}

// refactorings give other names to what costs as much as before.
var refactorings = map[string]func(*program) *program{
	"renamed":            func(p *program) *program { return p.rename("main.valid", "main.isValid") },
	"moved to a package": func(p *program) *program { return p.rename("main.valid", "example.com/shop/check.valid") },
	"moved and exported": func(p *program) *program { return p.rename("main.valid", "example.com/shop/check.Valid") },
	"split": func(p *program) *program {
		return p.rename("main.valid;strings", "main.valid;main.validWord;strings", "main.valid.func1", "main.valid;main.validRest")
	},
	"merged":          func(p *program) *program { return p.rename(";main.valid", "", ";main.sum", ";main.(*Server).cart") },
	"inlined":         func(p *program) *program { return p.rename(";main.valid;", ";") },
	"wrapped":         func(p *program) *program { return p.rename("main.valid;", "main.valid;main.traced.func1;") },
	"a literal above": func(p *program) *program { return p.rename("main.valid.func1", "main.valid.func2") },
	"generic":         func(p *program) *program { return p.rename("main.sum", "main.sum[go.shape.int]") },
	"a method":        func(p *program) *program { return p.rename("main.sum", "main.(*total).sum") },
	"another handler": func(p *program) *program { return p.rename("main.(*Server).cart", "main.(*Cart).ServeHTTP") },
	"another library": func(p *program) *program {
		return p.rename("encoding/json.Marshal", "example.org/jsonx.Encode", "encoding/json.", "example.org/jsonx.")
	},
	"Go 1.27": func(p *program) *program {
		return p.rename("encoding/json.(*encodeState).marshal", "encoding/json/v2.marshalEncode", "encoding/json.structEncoder.encode", "encoding/json/v2.makeStructArshaler.func2")
	},
	"a poller in another function": func(p *program) *program { return p.rename("main.(*Poller).run", "main.watch.func1") },
}

// TestRefactoringIsMoved: what has another name, is split, merged or wrapped, or calls more or fewer
// functions on the way, is no growth.
func TestRefactoringIsMoved(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	for name, change := range refactorings {
		for _, per := range units {
			r := rand.New(rand.NewPCG(3, 4))
			c := compare(t, shop().run(t, r, hour), change(shop()).run(t, r, halfHour), per)
			_, above := c.Above()
			if first(c) != "" || slices.ContainsFunc(above, func(f Function) bool { return !f.MayMove }) {
				t.Errorf("%s, per %q: named %s: %s", name, per, first(c), show(c))
			}
		}
	}
}

// TestRegressionBesideRefactoring: each of two changes under one caller is told as what it is.
func TestRegressionBesideRefactoring(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	before := shop().run(t, r, hour)
	changed := shop().dearer(0.2, "main.(*Server).cart", ";main.audit").rename("main.valid", "main.isValid")
	c := compare(t, before, changed.run(t, r, halfHour), "request")
	if got := first(c); got != "main.audit" {
		t.Errorf("named %q: %s", got, show(c))
	}
	if f := find(t, c, "main.isValid"); f.Named || f.Status != Moved {
		t.Errorf("isValid: %s", show(c))
	}
}

// TestDeepestIsNamed: of a chain of calls it is the deepest function with two thirds of the growth. What two callees
// share is their caller's.
func TestDeepestIsNamed(t *testing.T) {
	side := func(by map[string]float64) *Side {
		of := map[string]float64{"main.list": 40000, "main.search;main.find;main.match": 10000, "main.search;main.find;main.sort": 10000, "main.search": 10000}
		for frames, hits := range by {
			of[frames] += hits
		}
		return profiled(t, of)
	}
	for _, test := range []struct {
		name string
		by   map[string]float64
		want []string
	}{
		{"one callee", map[string]float64{"main.search;main.find;main.match": 20000}, []string{"main.match"}},
		{"three quarters in one callee", map[string]float64{"main.search;main.find;main.match": 15000, "main.search;main.find;main.sort": 5000}, []string{"main.match"}},
		{"half in each of two", map[string]float64{"main.search;main.find;main.match": 10000, "main.search;main.find;main.sort": 10000}, []string{"main.find"}},
		{"its own body", map[string]float64{"main.search;main.find": 20000}, []string{"main.find"}},
		{"two", map[string]float64{"main.search;main.find;main.match": 20000, "main.list;main.page": 12000}, []string{"main.match", "main.page"}},
		{"none", nil, nil}, // the clean twin
	} {
		more, _, _ := compare(t, side(nil), side(test.by), "request").Lists()
		var got []string
		for _, f := range more {
			got = append(got, f.Name)
		}
		if strings.Join(got, " ") != strings.Join(test.want, " ") {
			t.Errorf("%s: named %q, want %q", test.name, got, test.want)
		}
	}
}

// TestLineIsFound: a named function has its costliest line, and the program's own line that leads to it.
func TestLineIsFound(t *testing.T) {
	side := func(compiled float64) *Side {
		return profiled(t, map[string]float64{
			"main.list": 20000, "main.search@shop/search.go:40": 10000, "main.search@shop/search.go:46;regexp.MustCompile@regexp/regexp.go:310": compiled,
		})
	}
	f := find(t, compare(t, side(500), side(20000), "request"), "regexp.MustCompile")
	if line := (Frame{"regexp.MustCompile", "regexp/regexp.go", 310, false}); f.Line != line {
		t.Errorf("the line is %v, want %v", f.Line, line)
	}
	if blame := (Frame{"main.search", "shop/search.go", 46, true}); f.Blame.Line != blame.Line || f.Blame.Function != blame.Function {
		t.Errorf("the program's own line is %v, want %v", f.Blame, blame)
	}
	if at := f.At(); at != ", called from main.search at shop/search.go:46" {
		t.Error(at)
	}
}

// TestServingLine: a method that a library calls, and generated code, are no lines to change. Other methods are, and
// these where they are all that is known.
func TestServingLine(t *testing.T) {
	for by, want := range map[string]string{
		"main.list@shop/list.go:20;fmt.Sprintf@fmt/print.go:239;shop.Order.String@shop/order.go:9":                 "main.list at shop/list.go:20",
		"main.list@shop/list.go:20;shop.(*Order).Marshal@shop/order.pb.go:9":                                       "main.list at shop/list.go:20",
		"main.list@shop/list.go:20;shop.Order.String@shop/order.go:9":                                              "shop.Order.String at shop/order.go:9",
		"main.list@shop/list.go:20;shop.Order.Text@shop/order.go:9":                                                "shop.Order.Text at shop/order.go:9",
		"net/http.(*Server).Serve@http/server.go:1;fmt.Sprintf@fmt/print.go:239;shop.Order.String@shop/order.go:9": "shop.Order.String at shop/order.go:9",
	} {
		side := func(hits float64) *Side {
			return profiled(t, map[string]float64{"main.page": 20000, by + ";encoding/json.Marshal@json/encode.go:1": hits})
		}
		f := find(t, compare(t, side(500), side(20000), "request"), "encoding/json.Marshal")
		if at := f.At(); at != ", called from "+want {
			t.Errorf("%s: %q, want %q", by, at, want)
		}
	}
}

// TestExcept: what is accepted is charged neither to its function nor to what calls it.
func TestExcept(t *testing.T) {
	side := func(audit float64) *Side {
		return profiled(t, map[string]float64{"main.list": 40000, "main.search": 20000, "main.search;main.audit": audit})
	}
	for want, except := range map[string][]string{"main.audit": nil, "": {"main.audit"}} {
		c, err := Compare(t.Context(), side(100), side(20000), Options{Per: "request", Except: except})
		if err != nil || first(c) != want {
			t.Errorf("except %q: named %q, want %q: %v", except, first(c), want, err)
		}
	}
	if _, err := Compare(t.Context(), side(1), side(1), Options{Except: []string{"main.("}}); err == nil {
		t.Error("a wrong pattern is no error")
	}
}

// TestWhy: where nothing can be judged, it is said why, and no function is named.
func TestWhy(t *testing.T) {
	side := func(times float64, edit func(*Pieces)) *Side {
		of := map[string]float64{}
		for _, name := range []string{"list", "search", "cart", "checkout", "pay", "order"} {
			of["main."+name] = 50 * times
		}
		of["main.list"] += 100 * times
		s := profiled(t, of)
		if edit != nil {
			edit(&s.Pieces)
		}
		return s
	}
	noCPU := func(p *Pieces) { p.CPU, p.Costs = 0, nil }
	noWork := func(p *Pieces) { p.Work = nil; delete(p.Costs, "request") }
	noTime := func(p *Pieces) { p.Elapsed, p.Costs = 0, nil }
	known := side(1, nil) // 400 samples
	if known.Pieces.Samples != LeastShares {
		t.Fatal(known.Pieces.Samples)
	}
	two := func(edit func(*Pieces)) *Side {
		s := profiled(t, map[string]float64{"main.list": 500})
		edit(&s.Pieces)
		return s
	}
	for _, test := range []struct {
		per         string
		before, now *Side
		why         string
	}{
		{"request", known, known, ""},
		{"", known, known, ""},
		{"request", known, &Side{}, "there are no samples yet"},
		{"", &Side{}, known, "there are no samples yet"},
		{"", known, side(0.98, nil), "without a unit of work, growth takes 400 samples on both sides: there are 392, and 400 before"},
		{"request", known, side(0.98, nil), ""},
		{"request", side(1, noCPU), known, "the CPU time used before is unknown: the profile does not say how much each sample stands for"},
		{"request", known, side(1, noCPU), "the CPU time used now is unknown: the profile does not say how much each sample stands for"},
		{"job", known, known, `the number of units of "job" before is unknown`},
		{"request", known, side(1, noWork), `the number of units of "request" now is unknown`},
		{"", known, side(1, noTime), ""},
		{"", two(noTime), known, "too few functions have samples in both builds, and the measured time is unknown: budgets per unit of work can tell"},
	} {
		c := compare(t, test.before, test.now, test.per)
		if c.Why != test.why || test.why != "" && (first(c) != "" || c.Verdict() != evidence.Inconclusive || !strings.HasSuffix(c.Balance(), ": "+test.why)) {
			t.Errorf("per %q: %q, want %q: %s", test.per, c.Why, test.why, show(c))
		}
		for _, f := range c.Functions {
			if test.why != "" && f.Status != Undecided {
				t.Errorf("%s: %s", test.why, show(c))
			}
		}
	}
}

// TestNotes: what makes the two sides less alike is said, and nothing of two that are alike.
func TestNotes(t *testing.T) {
	side := func(b Build, work float64) *Side {
		s := sideOf(t, map[string]float64{"main.main;main.search": 1000})
		s.Build, s.Pieces.Work["request"] = b, work
		return s
	}
	old := Build{Go: "go1.26.8", Arch: "linux/amd64"}
	for _, test := range []struct {
		now  Build
		work float64
		want string
	}{
		{old, 10000, ""},
		{Build{}, 10000, ""},
		{Build{Go: "go1.27.4", Arch: "linux/amd64"}, 10000, "built by go1.27.4, before by go1.26.8: changes in the compiler and the standard library count as the program's"},
		{Build{Go: "go1.26.8", Arch: "linux/arm64"}, 10000, "on linux/arm64, before on linux/amd64: costs on different machines are compared"},
		{old, 30000, "500 request/s, before 167: costs under different loads are compared"},
		{old, 19000, ""},
	} {
		if c := compare(t, side(old, 10000), side(test.now, test.work), "request"); strings.Join(c.Notes, "; ") != test.want {
			t.Errorf("%q, want %q", c.Notes, test.want)
		}
	}
}

// TestJSONNames: a comparison is part of what `profguard diff -o json` writes, whose names are in lower case.
func TestJSONNames(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(x reflect.Type) {
		if seen[x] {
			return
		}
		switch seen[x] = true; x.Kind() {
		case reflect.Slice, reflect.Pointer:
			walk(x.Elem())
		case reflect.Struct:
			for i := range x.NumField() {
				f := x.Field(i)
				if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && (name == "" || name != strings.ToLower(name)) {
					t.Errorf("%s.%s is %q as JSON, want a name in lower case", x.Name(), f.Name, name)
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[Comparison]())
	if !seen[reflect.TypeFor[Frame]()] {
		t.Error("not all types were seen")
	}
}

// TestCollectorIsSaid: what the garbage collector costs more is no function's, and is said.
func TestCollectorIsSaid(t *testing.T) {
	side := func(gc float64) *Side {
		return sideOf(t, map[string]float64{"main.main;main.search": 10000, "main.main;main.checkout": 10000, "runtime.gcBgMarkWorker;runtime.systemstack;runtime.gcDrain": gc})
	}
	if c := compare(t, side(2000), side(10000), "request"); !strings.Contains(c.Balance(), "; the garbage collector: +36.4 points (") || first(c) != "" {
		t.Errorf("%s: %s", c.Balance(), show(c))
	}
	if c := compare(t, side(2000), side(2100), "request"); strings.Contains(c.Balance(), "collector") { // the clean twin
		t.Error(c.Balance())
	}
}

// TestSubject: what a pattern matches is judged as one, whatever calls it, and where cost has only moved to it, too.
func TestSubject(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 46))
	before := shop().run(t, r, hour)
	for _, test := range []struct {
		name, subject string
		now           *program
		want          Status
	}{
		{"dearer", "regexp", shop().dearer(0.15, "main.cart.step3", ";regexp.MustCompile;regexp.compile"), Grown},
		{"a package of several", "encoding/json", shop().dearer(0.3, "main.(*Server).cart", ";encoding/json.Marshal"), Grown},
		{"another one is dearer", "encoding/json", shop().dearer(0.15, "main.cart.step3", ";regexp.MustCompile"), Same},
		{"equal", "encoding/json", shop(), Same},
		{"not there", "compress/gzip", shop(), Same},
	} {
		c, err := Compare(t.Context(), before, test.now.run(t, r, load{windows: 120, work: 400, jitter: 0.05}), Options{Per: "request", Limit: 0.1, Subject: test.subject})
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Subject; s == nil || s.Status != test.want || s.Points.Low > s.Points.Value || s.Points.High < s.Points.Value {
			t.Errorf("%s: %+v, want %s", test.name, s, test.want)
		}
	}
	if _, err := Compare(t.Context(), before, before, Options{Subject: "/(/"}); err == nil {
		t.Error("a pattern that is none is no error")
	}
}

// TestInTurns: where both builds ran in turns, what a call costs more in a function is its growth, however few samples
// there are, and also where its share is the same. Without, pieces and shares have to tell.
func TestInTurns(t *testing.T) {
	sides := func(before, now map[string]float64) (s [2]*Side) {
		for i, stacks := range []map[string]float64{before, now} {
			s[i] = &Side{}
			for range 4 {
				s[i].Add(treeOf(t, stacks), Piece{CPU: []float64{1, 2}[i], Work: map[string]float64{"call": 1}})
			}
		}
		return s
	}
	const root = "testing.(*B).runN;main.BenchmarkRun;main.loop;main.run;"
	scale := Growth{Value: 1.5, Low: 1.4, High: 1.6}
	for name, test := range map[string]struct {
		before, now map[string]float64
		want        string
		moved       bool
	}{
		"0% and 65%":         {map[string]float64{root + "main.a": 20}, map[string]float64{root + "main.a": 10, root + "main.b": 18}, "main.b", false},
		"as large a share":   {map[string]float64{root + "main.a": 100}, map[string]float64{root + "main.a": 100}, "main.a", false},
		"renamed and slower": {map[string]float64{root + "main.old": 90, root + "main.a": 10}, map[string]float64{root + "main.b": 90, root + "main.a": 10}, "main.b", true},
	} {
		s := sides(test.before, test.now)
		c, err := Compare(t.Context(), s[0], s[1], Options{Per: "call", Scale: scale})
		if err != nil {
			t.Fatal(err)
		}
		if first(c) != test.want || (find(t, c, test.want).Moved > 0) != test.moved {
			t.Errorf("%s: found %s", name, show(c))
		}
	}
	s := sides(map[string]float64{root + "main.a": 100}, map[string]float64{root + "main.a": 100})
	if c := compare(t, s[0], s[1], "call"); first(c) != "" {
		t.Errorf("without a scale: found %s", show(c))
	}
}

// TestNames: two builds are told apart in sentences, by their binaries if nothing else differs.
func TestNames(t *testing.T) {
	commit := Build{Version: "v1", Revision: "abcdef0123", Binary: "1111111122"}
	dirty, other, of := commit, commit, commit
	dirty.Modified = true
	other.Binary = "2222222233"
	of.Revision += "-dirty-33333333"
	for _, tt := range []struct {
		was, is Build
		want    string
	}{
		{commit, dirty, "v1 (abcdef0) v1 (abcdef0, modified)"},
		{commit, other, "v1 (abcdef0), build 11111111 v1 (abcdef0), build 22222222"},
		{commit, commit, "v1 (abcdef0) v1 (abcdef0)"},
		{commit, of, "v1 (abcdef0) v1 (abcdef0, modified, build 33333333)"},
		{Build{}, commit, "unknown build v1 (abcdef0)"},
		{Build{Binary: "1111111122"}, Build{Binary: "1111111133"}, "build 11111111 build 11111111"},
	} {
		c := Comparison{Before: Summary{Build: tt.was}, Now: Summary{Build: tt.is}}
		if was, is := c.Names(); was+" "+is != tt.want {
			t.Errorf("%s %s, want %s", was, is, tt.want)
		}
	}
}
