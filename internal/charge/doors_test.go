package charge_test

import (
	stdcmp "cmp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/pattern"
)

// A way into a foreign module, with the file that shows its version.
const (
	shop   = "main.main@/src/shop/main.go:1;main.run@/src/shop/main.go:2;example.com/shop/cart.Get@/src/shop/cart/get.go:3"
	inLib  = "@/mod/example.com/lib@v1.2.0/lib.go:4"
	inSub  = "@/mod/example.com/lib@v1.2.0/sub/sub.go:4"
	inWire = "@/mod/example.com/wire@v2.0.1/wire.go:4"
)

// TestDoors: foreign code is charged at the functions through which it is entered.
func TestDoors(t *testing.T) {
	for name, test := range map[string]struct {
		stack, module string
		except        string
		want          []string
	}{
		"one module": {stack: shop + ";example.com/lib.Do" + inLib + ";example.com/lib.do" + inLib + ";example.com/lib/sub.Leaf" + inSub,
			want: []string{"example.com/lib.Do", "example.com/shop/cart.Get"}},
		"one module, then another": {stack: shop + ";example.com/lib.Do" + inLib + ";example.com/lib.do" + inLib + ";example.com/wire.Put" + inWire + ";example.com/wire.put" + inWire,
			want: []string{"example.com/lib.Do", "example.com/shop/cart.Get", "example.com/wire.Put"}},
		"the standard library is one module": {stack: shop + ";encoding/json.Marshal;encoding/json.(*encodeState).marshal;reflect.Value.Len;runtime.mallocgc",
			want: []string{"encoding/json.Marshal", "example.com/shop/cart.Get"}},
		"the floor is no door": {stack: shop + ";bufio.(*Reader).Read;crypto/tls.(*Conn).Read;crypto/tls.(*Conn).readRecord",
			want: []string{"crypto/tls.(*Conn).Read", "example.com/shop/cart.Get"}},
		"back through the runtime": {stack: shop + ";example.com/lib.Do" + inLib + ";runtime.mapassign;example.com/lib.(*key).hash" + inLib,
			want: []string{"example.com/lib.Do", "example.com/shop/cart.Get"}},
		"a callback into own code": {stack: shop + ";sort.Slice;example.com/shop/cart.Get.func1@/src/shop/cart/get.go:9;strings.Compare",
			want: []string{"example.com/shop/cart.Get", "example.com/shop/cart.Get.func1", "sort.Slice", "strings.Compare"}},
		"a package of another folder is a module": {stack: shop + ";example.com/old.Do@/src/shop/vendor/example.com/old/do.go:1;example.com/old.do@/src/shop/vendor/example.com/old/do.go:1;example.com/old/sub.Do@/src/shop/vendor/example.com/old/sub/do.go:1",
			want: []string{"example.com/old.Do", "example.com/old/sub.Do", "example.com/shop/cart.Get"}},
		"except of a door excuses its run": {stack: shop + ";example.com/lib.Do" + inLib + ";example.com/lib.do" + inLib + ";example.com/wire.Put" + inWire, except: "example.com/lib.Do",
			want: []string{"example.com/wire.Put"}},
		"and of a function in it": {stack: shop + ";example.com/lib.Do" + inLib + ";example.com/lib.do" + inLib + ";example.com/lib/sub.Leaf" + inSub, except: "example.com/lib.do"},
		"down to a callback": {stack: shop + ";sort.Slice;example.com/shop/cart.Get.func1@/src/shop/cart/get.go:9;strings.Compare", except: "sort.Slice",
			want: []string{"example.com/shop/cart.Get.func1", "strings.Compare"}},
		"except of an own function excuses what it is itself": {stack: shop + ";example.com/lib.Do" + inLib, except: "cart.Get",
			want: []string{"example.com/lib.Do"}},
		"what cgo wrote is of the package's module": {stack: shop + ";example.com/lib.Do" + inLib + ";example.com/lib._Cfunc_do@_cgo_gotypes.go:5",
			want: []string{"example.com/lib.Do", "example.com/shop/cart.Get"}},
		"where it stands first, too": {stack: shop + ";example.com/lib._Cfunc_do@_cgo_gotypes.go:5;example.com/lib.Do" + inLib,
			want: []string{"example.com/lib._Cfunc_do", "example.com/shop/cart.Get"}},
		"a folder that looks like a version": {stack: strings.ReplaceAll(shop, "@/src", "@/me@vps/src") + ";example.com/lib.Do" + strings.Replace(inLib, "@/", "@/me@vps/", 1) + ";example.com/lib.do" + strings.Replace(inLib, "@/", "@/me@vps/", 1),
			want: []string{"example.com/lib.Do", "example.com/shop/cart.Get"}},
		"a program below a folder vendor": {stack: strings.ReplaceAll(shop, "@/src", "@/vendor/src") + ";example.com/shop/cart.get@/vendor/src/shop/cart/get.go:9",
			want: []string{"example.com/shop/cart.Get", "example.com/shop/cart.get"}},
		"the program is of a version itself": {stack: "main.main@/mod/example.com/lib@v1.2.0/cmd/x/main.go:1;main.run@/mod/example.com/lib@v1.2.0/cmd/x/main.go:2;example.com/lib.Do" + inLib + ";example.com/lib.do" + inLib,
			want: []string{"example.com/lib.Do", "example.com/lib.do"}},
		"the module is known": {stack: "main.main;main.run;example.com/shop/cart.Get;example.com/lib.Do;example.com/lib.do", module: "example.com/shop",
			want: []string{"example.com/lib.Do", "example.com/shop/cart.Get"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, table := counterOf(t, "cpu 10s\n"+test.stack+" 10\n", "unused", stdcmp.Or(test.except, "unused"))
			c.Names.Module, c.Excepts = test.module, [][]charge.Exception{{{Of: 1, From: -1}}}
			q := charge.Query{Charge: charge.Inner, In: everything, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}}
			if test.except != "" {
				q.Except = 0
			}
			n := c.Ask(q)
			c.Open(table)
			var got []string
			for _, key := range c.Sums(n).Keys {
				got = append(got, c.Name(n, key))
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestLinkedModules: where the program's modules are known, a vendored one has one door.
func TestLinkedModules(t *testing.T) {
	_, table := counterOf(t, "cpu 10s\n"+shop+";example.com/old.Do@/src/shop/vendor/example.com/old/do.go:1;example.com/old/sub.Do@/src/shop/vendor/example.com/old/sub/do.go:1 10\n")
	names := charge.NewNames(pattern.NewIndex(nil))
	names.Modules = []string{"example.com/old", "example.com/ol"}
	if err := names.Learn(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	c := charge.Counter{Names: names}
	n := c.Ask(charge.Query{Charge: charge.Inner, In: everything, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}})
	c.Open(table)
	sums := c.Sums(n)
	if sums.By(c.Key(n, "example.com/old.Do")) == 0 || sums.By(c.Key(n, "example.com/old/sub.Do")) != 0 {
		t.Error("the vendored module has another door than example.com/old.Do")
	}
}

// TestBlameWithoutModule: files show which module is the program's, and its line is blamed.
func TestBlameWithoutModule(t *testing.T) {
	explain, _ := offenders(t, "cpu\n"+shop+";example.com/lib.Do"+inLib+" 10\n", "", 0.9)
	if got := explain()[0].Own.Function; got != "example.com/shop/cart.Get" {
		t.Errorf("%s is blamed, want the caller in the program", got)
	}
}

// TestBlameSkipsServingCode: the line that called fmt is blamed, and not the String method that
// fmt has called, nor generated code.
func TestBlameSkipsServingCode(t *testing.T) {
	const way = "main.main@main.go:1;main.run@main.go:2;main.show@main.go:3;"
	for name, test := range map[string]struct{ stack, want string }{
		"a method that fmt calls":       {way + "fmt.Sprint;fmt.(*pp).handleMethods;main.Order.String@order.go:4;strings.Repeat", "main.show"},
		"a method that own code calls":  {way + "main.Order.String@order.go:4;strings.Repeat", "main.Order.String"},
		"a handler":                     {"net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*app).ServeHTTP@app.go:4;strings.Repeat", "main.(*app).ServeHTTP"},
		"generated code":                {way + "main.(*Order).Encode@order.pb.go:4;strings.Repeat", "main.show"},
		"nothing but generated code":    {"net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*Order).Encode@order.pb.go:4;strings.Repeat", "main.(*Order).Encode"},
		"a method, nothing else is own": {"net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;fmt.Sprint;main.Order.String@order.go:4;strings.Repeat", "main.Order.String"},
	} {
		t.Run(name, func(t *testing.T) {
			explain, names := offenders(t, "cpu\n"+test.stack+" 10\n", "", 0.9)
			if !slices.Contains(names, "strings.Repeat") {
				t.Fatalf("the offenders are %v", names)
			}
			if got := explain()[0].Own.Function; got != test.want {
				t.Errorf("%s is blamed, want %s", got, test.want)
			}
		})
	}
}
