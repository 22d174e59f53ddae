package charge

import (
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/pattern"
)

// load learns the names of a profile and finds the way in of its stacks. Its text may begin
// with "link=net/http,main": the order in which the program's packages were linked. A literal
// in it was compiled into the package before it.
func load(t *testing.T, text, module string) (*Counter, *decode.Table) {
	t.Helper()
	var packages []string
	if rest, ok := strings.CutPrefix(text, "link="); ok {
		list, after, _ := strings.Cut(rest, " ")
		packages, text = strings.Split(list, ","), after
	}
	p := folded.Must(text)
	for _, l := range p.Location {
		called := l.Line[len(l.Line)-1].Function.Name // the others are inlined into it
		at := slices.Index(packages, called)
		if at < 0 {
			at = slices.Index(packages, names.PackageOf(called))
		}
		if at >= 0 {
			l.Address = uint64(at+1)<<20 + l.ID
		}
	}
	table, err := new(decode.Decoder).Profile(p)
	if err != nil {
		t.Fatal(err)
	}
	c := &Counter{Names: NewNames(pattern.NewIndex(nil))}
	c.Names.Module = module
	if err := c.Names.Learn(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	c.Open(table)
	return c, table
}

// TestWayIn writes stacks root first, with "|" in front of what is charged in full:
// what stands before it is the way in, the entry point last.
func TestWayIn(t *testing.T) {
	const (
		link  = "link=net/http,sort,github.com/go-chi/chi/v5,github.com/gin-gonic/gin,google.golang.org/grpc,example.com/plugin,example.com/errors,example.com/next.All.func1,example.com/log,example.com/cache,golang.org/x/sync/errgroup,example.com/pb,example.com/shop,main cpu 10s\n"
		serve = "net/http.(*conn).serve;net/http.serverHandler.ServeHTTP;"
	)
	tests := map[string]string{
		"program":                        "runtime.main;main.main;main.run;|main.work;main.leaf",
		"goroutine":                      "main.start.func1;main.worker;|main.job;main.leaf",
		"go statement on a function":     "main.start.gowrap1;main.worker;|main.job",
		"nothing but the bottom":         "|main.spin",
		"HTTP/1":                         serve + "net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"a handler that is a type":       serve + "main.(*App).ServeHTTP;|main.work",
		"two middlewares":                serve + "net/http.HandlerFunc.ServeHTTP;main.logging.func1;net/http.HandlerFunc.ServeHTTP;main.auth.func1;net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"a middleware that burns":        serve + "net/http.HandlerFunc.ServeHTTP;main.logging.func1;|main.slowLog",
		"closures call each other":       serve + "net/http.HandlerFunc.ServeHTTP;main.logging.func1;main.auth.func1;|main.handle;main.work",
		"closures of one function":       serve + "net/http.HandlerFunc.ServeHTTP;main.start.logging.func1;main.start.auth.func2;main.start.func3;|main.handle",
		"a function's own closure":       serve + "main.(*App).ServeHTTP;|main.work;main.work.func1;main.leaf",
		"a closure that calls itself":    serve + "main.(*App).ServeHTTP;|main.walk;main.walk.func1;main.walk.func1;main.leaf",
		"a deferred function":            serve + "main.(*App).ServeHTTP;|main.work;runtime.deferreturn;main.work.func1;main.leaf",
		"chi":                            serve + "github.com/go-chi/chi/v5.(*Mux).ServeHTTP;net/http.HandlerFunc.ServeHTTP;github.com/go-chi/chi/v5.(*Mux).routeHTTP;net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"chi's own work":                 serve + "github.com/go-chi/chi/v5.(*Mux).ServeHTTP;|github.com/go-chi/chi/v5.(*Mux).routeHTTP",
		"gin":                            serve + "github.com/gin-gonic/gin.(*Engine).ServeHTTP;github.com/gin-gonic/gin.(*Context).Next;main.logging;github.com/gin-gonic/gin.(*Context).Next;main.handle;|main.work",
		"gin calls what it imports":      serve + "github.com/gin-gonic/gin.(*Engine).ServeHTTP;|github.com/gin-gonic/gin.(*Context).Next;net/http.Error",
		"gRPC with interceptors":         "google.golang.org/grpc.(*Server).serveStreams.func2.1;google.golang.org/grpc.(*Server).processUnaryRPC;example.com/pb._Greeter_SayHello_Handler;main.logging;google.golang.org/grpc.getChainUnaryHandler.func1;main.auth;example.com/pb._Greeter_SayHello_Handler.func1;main.(*server).SayHello;|main.work",
		"a chain of plugins":             "example.com/plugin.Serve;example.com/errors.ServeDNS;example.com/plugin.Next;example.com/log.ServeDNS;example.com/plugin.Next;example.com/cache.ServeDNS;|sort.Strings",
		"a chain whose next is inlined":  "example.com/plugin.Serve;example.com/errors.ServeDNS;~example.com/next.Next;example.com/log.ServeDNS;~example.com/next.Next;example.com/cache.ServeDNS;|sort.Strings",
		"a loop over an inlined import":  "example.com/plugin.Serve;example.com/plugin.Next;example.com/errors.ServeDNS;|~example.com/next.All;example.com/next.All.func1;strings.Join",
		"an inlined call of an import":   serve + "main.(*App).ServeHTTP;|~example.com/next.Get;example.com/cache.Get;sort.Strings",
		"sort.Slice":                     serve + "main.(*App).ServeHTTP;|main.search;sort.Slice;main.search.func1;strings.Compare",
		"a transaction with a literal":   serve + "main.(*App).ServeHTTP;|main.save;example.com/cache.Update;main.save.func1;main.encode",
		"a literal given before":         serve + "main.(*App).ServeHTTP;main.save;example.com/cache.Update;main.start.func1;|main.encode",
		"a goroutine on a library":       "main.start.func1;|example.com/cache.Walk;example.com/cache.walk",
		"a value that prints itself":     serve + "main.handle;|fmt.Sprintf;fmt.(*pp).handleMethods;example.com/pb.(*Request).String;example.com/cache.Format",
		"an own value that does":         serve + "main.handle;|fmt.Sprintf;fmt.(*pp).handleMethods;main.Order.String;example.com/cache.Format",
		"a named function to walk with":  serve + "main.handle;|path/filepath.WalkDir;path/filepath.walkDir;main.visit;os.Lstat",
		"a template that calls a method": serve + "main.handle;|html/template.(*Template).Execute;text/template.(*state).evalCall;reflect.Value.Call;main.Order.Total",
		"a library that calls a method":  serve + "main.logging.func1;github.com/gin-gonic/gin.(*Context).Next;reflect.Value.Call;main.handle;|main.work",
		"a loop over a function":         serve + "main.handle;strings.Lines.func1;main.handle-range1;|main.work",
		"a loop over an own one":         serve + "main.handle;main.all.func1;main.handle-range1;|main.work",
		"loops in a loop":                serve + "main.handle;strings.Lines.func1;main.handle-range1;strings.FieldsSeq.func1;main.handle-range2;|main.work",
		"a loop of a callee":             serve + "main.handle;|main.work;strings.Lines.func1;main.work-range1;main.leaf",
		"a loop of a goroutine":          "main.start.func1;strings.Lines.func1;main.start.func1-range1;|main.work",
		"labelled code":                  serve + "main.handle;runtime/pprof.Do;main.handle.func1;|main.work",
		"labelled by package label":      serve + "main.handle;github.com/profguard/profguard/label.Do;main.handle.func1;|main.work",
		"a proxy's transport":            serve + "main.logging.func1;net/http/httputil.(*ReverseProxy).ServeHTTP;main.(*transport).RoundTrip;|main.work",
		"a handler named as a method":    serve + "main.(*mw).ServeHTTP;net/http.HandlerFunc.ServeHTTP;main.(*App).Push;|main.work",
		"a driver":                       "runtime.main;main.main;main.load;|database/sql.(*DB).Query;example.com/log.(*conn).Query;example.com/cache.Get",
		"a plugin's value, nobody's own": "example.com/plugin.Serve;example.com/errors.ServeDNS;fmt.Sprintf;example.com/log.(*Request).String;|strings.Join",
		"a function that gRPC gave":      "google.golang.org/grpc.(*Server).processUnaryRPC;main._Greeter_SayHello_Handler;google.golang.org/grpc.(*Server).processUnaryRPC.func2;google.golang.org/grpc.recv;example.com/pb.Unmarshal;|example.com/pb.decode",
		"a library that is only called":  serve + "main.(*App).ServeHTTP;|example.com/cache.Get;sort.Strings",
		"errgroup":                       "golang.org/x/sync/errgroup.(*Group).Go.func1;main.crawl.func2;main.fetch;|main.get",
		"WaitGroup.Go":                   "sync.(*WaitGroup).Go.func1;main.crawl.func2;main.fetch;|main.get",
		"a timer":                        "time.goFunc;main.tick;main.check;|main.work",
		"a test":                         "testing.tRunner;main.TestIt;main.serve;|main.work",
		"a benchmark":                    "testing.(*B).launch;testing.(*B).runN;main.BenchmarkIt;main.serve;|main.work",
		"recursion is not the way in":    "main.start.func1;main.walk;|main.walk;main.leaf",
		"a generic function stands with": serve + "main.(*App).ServeHTTP;|slices.SortFunc[go.shape.[]int];sort.Strings",
		"type arguments with paths":      serve + "main.(*App).ServeHTTP;|main.dump;fmt.Sprintf;internal/fmtsort.Sort;slices.SortStableFunc[go.shape.[]internal/fmtsort.KeyValue,internal/fmtsort.KeyValue];internal/fmtsort.Sort.func1",
		"inlined frames":                 serve + "main.(*App).ServeHTTP;|main.work;~main.small;main.leaf",
	}
	for name, stack := range tests {
		t.Run(name, func(t *testing.T) {
			before, after, _ := strings.Cut(stack, "|")
			c, _ := load(t, link+before+after+" 10\n", "")
			s := c.stacks.shapes[0]
			want := strings.Count(";"+after, ";") // frames that are charged in full
			got := int(max(s.entry, s.working+1))
			if got != want {
				t.Errorf("%d frames are charged, want %d of %s", got, want, before+after)
			}
		})
	}
}

// TestWayInWithoutOrder: without addresses only calls out of the standard library and
// of function literals are known to be hand-overs, and that is said.
func TestWayInWithoutOrder(t *testing.T) {
	const stack = "net/http.(*conn).serve;github.com/gin-gonic/gin.(*Engine).ServeHTTP;github.com/gin-gonic/gin.(*Context).Next;main.handle;main.work 10\n"
	for link, want := range map[string]int32{
		"cpu 10s\n": 2, // what gin.(*Engine).ServeHTTP calls
		"link=net/http,github.com/gin-gonic/gin,main cpu 10s\n": 1, // main.handle
		"link=github.com/gin-gonic/gin,runtime,main cpu 10s\n":  2, // no order of Go's linker
	} {
		c, _ := load(t, link+stack+"runtime.main;runtime.gcenable 1\n", "")
		if entry := c.stacks.shapes[0].entry; entry != want {
			t.Errorf("%q: the entry point is frame %d, want %d", link, entry, want)
		}
		if ordered := want == 1; c.Ordered() != ordered {
			t.Errorf("%q: ordered %v, want %v", link, c.Ordered(), ordered)
		}
	}
}

// TestStandardOrOwn: a package that is named like one of the standard library takes over from it
// when it is the program's own.
func TestStandardOrOwn(t *testing.T) {
	const text = "cpu 10s\nnet/http.(*conn).serve@GO/net/http/server.go:1;net/http.serverHandler.ServeHTTP@GO/net/http/server.go:2;" +
		"uuid.New@FILE:1;uuid.work@FILE:2 10\nruntime.main@GO/runtime/proc.go:1 1\n"
	for _, tt := range []struct {
		sources, file, module string
		handed                bool
	}{
		{"/usr/local/go/src/", "/usr/local/go/src/uuid/uuid.go", "", false},
		{"/usr/local/go/src/", "/home/me/uuid/uuid.go", "", true},
		{"", "uuid/uuid.go", "", false},
		{"", "uuid/uuid.go", "uuid", true},
		{"", "uuid@v1.0.0/uuid.go", "", true},
	} {
		c, table := load(t, strings.NewReplacer("GO/", tt.sources, "FILE", tt.file).Replace(text), tt.module)
		if got := c.stacks.shapes[0].handed; got != tt.handed {
			t.Errorf("%+v: handed over %t", tt, got)
		}
		c.Names.Module = "example.com/shop"
		if err := c.Names.Learn(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		if c.Open(table); tt.module != "" && c.stacks.shapes[0].handed {
			t.Errorf("%+v: still the own module's", tt)
		}
	}
}

// TestServersOwnWork: what a server does in stacks that reach no handler is nobody's,
// unless the root is of the program's own module.
func TestServersOwnWork(t *testing.T) {
	const half = `cpu 10s
net/http.(*conn).serve;main.handle;main.work 5
net/http.(*conn).serve;net/http.readRequest;net/textproto.read 5
`
	const tiny = `cpu 10s
net/http.(*conn).serve;main.handle;main.work 1
net/http.(*conn).serve;net/http.finishRequest;syscall.write 8
net/http.(*conn).serve;crypto/tls.Handshake 9
`
	const library = `link=example.com/fast,main cpu 10s
example.com/fast.serveConn;main.handle;main.work 1
example.com/fast.serveConn;example.com/fast.flush;net.(*conn).Write;net.(*netFD).Write;internal/poll.(*FD).Write;syscall.write 8
example.com/fast.serveConn;example.com/fast.poll;os.(*File).Read;internal/poll.(*FD).Read;syscall.read 9
`
	const mine = `cpu 10s
example.com/shop.serve;net/http.HandlerFunc.ServeHTTP;example.com/shop.handle;example.com/shop.work 5
example.com/shop.serve;example.com/shop.read;example.com/shop.parse 5
`
	for _, test := range []struct {
		name, text, module, function string
		want                         int64
	}{
		{"half of it reaches a handler", half, "", "net/http.readRequest", 0},
		{"what it reads and writes", tiny, "", "net/http.finishRequest", 0},
		{"what it computes", tiny, "", "crypto/tls.Handshake", 9},
		{"what a library's server reads and writes", library, "", "example.com/fast.flush", 0},
		{"what it reads from files", library, "", "example.com/fast.poll", 9},
		{"somebody else's server", mine, "", "example.com/shop.parse", 0},
		{"the program's own server", mine, "example.com/shop", "example.com/shop.parse", 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, table := load(t, test.text, test.module)
			q := c.Ask(Query{Charge: Inner, In: -1, Where: -1, Except: -1, Weight: Weight{Count: -1}})
			var got int64
			for _, key := range c.Sums(q).Keys {
				if table.Symbols.Name(decode.ID(key)) == test.function {
					got = c.Sums(q).By(key)
				}
			}
			if got != test.want {
				t.Errorf("%s is charged %d, want %d", test.function, got, test.want)
			}
		})
	}
}

// TestOrderedOfStacks: functions that no stack has make no difference. Files list them,
// and profiles that were parsed do not.
func TestOrderedOfStacks(t *testing.T) {
	c, table := load(t, "cpu 10s\nmain.main;main.run 1\n", "")
	table.Funcs = append(table.Funcs, decode.Func{Name: table.Symbols.Intern([]byte("example.com/lib.F"))})
	if err := c.Names.Learn(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	if c.Open(table); !c.Ordered() {
		t.Error("the order of packages is missed, and there is only one")
	}
}

// A module whose path begins with another's is not part of it.
func TestIsIn(t *testing.T) {
	const module = "github.com/acme/shop"
	for pkg, want := range map[string]bool{
		module: true, module + "/cart": true, module + "_test": true, module + "/cart_test": true,
		module + "_sdk": false, module + "_sdk/cart": false, module + "2": false, module + ".v2": false, "github.com/acme": false, "": false,
	} {
		if got := isIn(pkg, module); got != want {
			t.Errorf("%q is in %s: %t", pkg, module, got)
		}
		if isIn(pkg, "") {
			t.Errorf("%q is in a module without a name", pkg)
		}
	}
}
