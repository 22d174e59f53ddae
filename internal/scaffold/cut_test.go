package scaffold

import (
	"strings"
	"testing"
)

// TestCut writes stacks root first, with "|" where the program's own work begins:
// what stands before it is the way in, the entry point last.
func TestCut(t *testing.T) {
	const http1 = "net/http.(*conn).serve;net/http.serverHandler.ServeHTTP;"
	const grpcServer = "google.golang.org/grpc.(*Server).serveStreams.func2.1;google.golang.org/grpc.(*Server).handleStream;google.golang.org/grpc.(*Server).processUnaryRPC;"
	tests := map[string]string{
		"program":                      "runtime.main;main.main;main.run;|main.work;main.leaf",
		"main inlined":                 "runtime.main;main.main;main.run|",
		"goroutine":                    "main.start.func1;main.worker;|main.job;main.leaf",
		"go statement on a function":   "main.start.gowrap1;main.worker;|main.job",
		"HTTP/1":                       http1 + "net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"handler inside of main":       http1 + "net/http.HandlerFunc.ServeHTTP;main.main.func1;|main.work",
		"HTTP/1 with a mux":            http1 + "net/http.(*ServeMux).ServeHTTP;net/http.HandlerFunc.ServeHTTP;main.(*App).handle;|main.work",
		"HTTP/1, handler is a type":    http1 + "main.(*App).ServeHTTP;|main.work",
		"HTTP/1, method value":         http1 + "net/http.HandlerFunc.ServeHTTP;main.(*App).handle-fm;|main.(*App).handle;main.work",
		"HTTP/2":                       "net/http.(*http2serverConn).runHandler;net/http.serverHandler.ServeHTTP;net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"HTTP/2 of x/net":              "golang.org/x/net/http2.(*serverConn).runHandler;net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"two middlewares, HandlerFunc": http1 + "net/http.HandlerFunc.ServeHTTP;main.logging.func1;net/http.HandlerFunc.ServeHTTP;main.auth.func1;net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"middleware that burns":        http1 + "net/http.HandlerFunc.ServeHTTP;main.logging.func1;|main.slowLog",
		"middlewares as types":         http1 + "main.logging.ServeHTTP;main.(*auth).ServeHTTP;main.app.ServeHTTP;|main.work",
		"third party middleware":       http1 + "example.com/cors.(*Cors).Handler.func1;net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		// Closures that call each other directly, with no ServeHTTP in between, look
		// like any function that calls another: only the first is an entry point.
		"closures without ServeHTTP": http1 + "net/http.HandlerFunc.ServeHTTP;main.logging.func1;|main.auth.func1;main.handle;main.work",
		"chi":                        http1 + "github.com/go-chi/chi/v5.(*Mux).ServeHTTP;net/http.HandlerFunc.ServeHTTP;main.logging.func1;net/http.HandlerFunc.ServeHTTP;github.com/go-chi/chi/v5.(*Mux).routeHTTP-fm;github.com/go-chi/chi/v5.(*Mux).routeHTTP;net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"gorilla":                    http1 + "github.com/gorilla/mux.(*Router).ServeHTTP;net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"gin":                        http1 + "github.com/gin-gonic/gin.(*Engine).ServeHTTP;github.com/gin-gonic/gin.(*Engine).handleHTTPRequest;github.com/gin-gonic/gin.(*Context).Next;main.logging;github.com/gin-gonic/gin.(*Context).Next;main.handle;|main.work",
		"net/http timeout":           "net/http.(*timeoutHandler).ServeHTTP.func1;net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"gRPC":                       grpcServer + "main.pb._Greeter_SayHello_Handler;main.(*server).SayHello;|main.work",
		"gRPC with interceptors":     grpcServer + "example.com/pb._Greeter_SayHello_Handler;main.logging;google.golang.org/grpc.getChainUnaryHandler.func1;main.auth;example.com/pb._Greeter_SayHello_Handler.func1;main.(*server).SayHello;|main.work",
		"gRPC stream":                "google.golang.org/grpc.(*Server).processStreamingRPC;example.com/pb._Greeter_Talk_Handler;main.(*server).Talk;|main.work",
		"errgroup":                   "golang.org/x/sync/errgroup.(*Group).Go.func1;main.crawl.func2;main.fetch;|main.get",
		"WaitGroup.Go":               "sync.(*WaitGroup).Go.func1;main.crawl.func2;main.fetch;|main.get",
		"timer":                      "time.goFunc;main.tick;|main.work",
		"worker pool":                "main.(*Pool).Start.func1;main.(*Pool).run;|main.job;main.leaf",
		"recursion in the body":      "main.start.func1;main.walk;|main.walk;main.visit;main.walk;main.leaf",
		"systemstack in the middle":  "main.start.func1;main.worker;|main.job;runtime.systemstack;runtime.mallocgc.func1",
		"garbage collector":          "runtime.gcBgMarkWorker;runtime.systemstack;runtime.gcBgMarkWorker.func2;runtime.gcDrain;|runtime.scanobject",
		"scheduler":                  "runtime.mcall;runtime.park_m;runtime.schedule;runtime.findRunnable;runtime.stealWork;|runtime.runqsteal",
		"test":                       "testing.tRunner;main.TestIt;main.serve;|main.work",
		"benchmark":                  "testing.(*B).launch;testing.(*B).runN;main.BenchmarkIt;main.serve;|main.work",
		"parallel benchmark":         "testing.(*B).RunParallel.func1;main.BenchmarkIt.func1;main.serve;|main.work",
		"fuzzing":                    "testing.(*F).Fuzz.func1.1;main.FuzzIt.func1;main.serve;|main.work",
		"guard.Check":                "github.com/profguard/profguard/guard.runWork;main.TestIt.func1;main.serve;|main.work",
		"guard.Check, closure of it": "github.com/profguard/profguard/guard.runWork.func1;main.TestIt.func1;main.serve;|main.work",
		"handler under test":         "testing.tRunner;main.TestIt;net/http.HandlerFunc.ServeHTTP;main.handle;|main.work",
		"server in its own process":  "runtime.main;main.main;main.run;|main.work;net/http.serve2;main.x",
		"nothing":                    "",
	}
	m := NewMatcher()
	for name, stack := range tests {
		t.Run(name, func(t *testing.T) {
			wayIn, _, _ := strings.Cut(stack, "|")
			frames := strings.Split(strings.ReplaceAll(stack, "|", ""), ";")
			if stack == "" {
				frames = nil
			}
			n := len(frames)
			ids, classes := make([]int32, n), make([]Class, n)
			for i := range ids {
				ids[i], classes[i] = int32(i), m.Class(frames[n-1-i])
			}
			got := Cut(ids, classes)
			want := n - strings.Count(wayIn, ";")
			if !strings.Contains(stack, ";|") {
				want = 0
			}
			if got != want {
				t.Errorf("own work: %v, want %v", frames[n-got:], frames[n-want:])
			}
		})
	}
}

func TestParked(t *testing.T) {
	for name, want := range map[string]bool{
		"runtime.gopark":                    true,
		"runtime.chanrecv1":                 true,
		"internal/poll.(*FD).Read":          true,
		"internal/poll.runtime_pollWait":    true,
		"internal/runtime/syscall.Syscall6": true,
		"time.Sleep":                        true,
		"sync.(*WaitGroup).Wait":            true,
		"sync.runtime_notifyListWait":       true,
		"sync.(*Pool).Get":                  false,
		"time.(*Timer).Reset":               false,
		"net.(*conn).Read":                  false,
		"main.runtime":                      false,
		"example.com/runtime.gopark":        false,
		"main.work":                         false,
		"runtime/pprof.profileWriter":       true,
		"runtime/pprof.Do":                  false,

		"github.com/profguard/profguard/guard.(*sink).run":               true,
		"github.com/profguard/profguard/guard.(*looper).wait":            true,
		"github.com/profguard/profguard/guard.start.func2":               true,
		"github.com/profguard/profguard/guard.(*Guard).loop":             true,
		"github.com/profguard/profguard/internal/dump.(*Writer).run":     true,
		"github.com/profguard/profguard/internal/hub.(*Hub).start.func1": true,
		"github.com/profguard/profguard/guard.runWork":                   false,
		"github.com/profguard/profguard/guard.(*Guard).Handler.func1":    false,
		"example.com/guard.(*sink).run":                                  false,
		"golang.org/x/sync/errgroup.(*Group).Go1":                        false,
	} {
		if got := Parked(name); got != want {
			t.Errorf("Parked(%q) = %t, want %t", name, got, want)
		}
	}
}
