package release

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// An hour before, and half an hour now, at a sixth of a core.
var (
	hour     = load{windows: 60, work: 200, jitter: 0.2}
	halfHour = load{windows: 30, work: 200, jitter: 0.2}
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
			if got := first(c); got != test.want {
				t.Errorf("named %q, want %q: %s", got, test.want, show(c))
			}
			if f := find(t, c, test.want); f.Points.Low > test.points || f.Points.High < test.points {
				t.Errorf("%s", show(c))
			}
			// The clean twin.
			if c := compare(t, before, shop().run(t, r, halfHour), test.per); first(c) != "" {
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
	for name, change := range refactorings {
		for _, per := range []string{"request", ""} {
			t.Run(name+" "+per, func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, 4))
				before := shop().run(t, r, hour)
				c := compare(t, before, change(shop()).run(t, r, halfHour), per)
				if first(c) != "" {
					t.Errorf("named %s: %s", first(c), show(c))
				}
			})
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
	if f := find(t, c, "main.isValid"); f.Named || f.Status == Grown {
		t.Errorf("isValid: %s", show(c))
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
		s := profiled(t, map[string]float64{"main.search": 10000, "main.checkout": 10000})
		s.Table = table(t, map[string]float64{"main.main;main.search": 10000, "main.main;main.checkout": 10000, "runtime.gcBgMarkWorker;runtime.systemstack;runtime.gcDrain": gc})
		s.Windows[0].CPU = 200 + gc/100
		return s
	}
	if c := compare(t, side(2000), side(10000), "request"); !strings.Contains(c.Balance(), "; the garbage collector: +36.4 points (") || first(c) != "" {
		t.Errorf("%s: %s", c.Balance(), show(c))
	}
	if c := compare(t, side(2000), side(2100), "request"); strings.Contains(c.Balance(), "collector") { // the clean twin
		t.Error(c.Balance())
	}
}
