package scaffold

// list is every pattern with its class; the first match counts. Names were read
// off profiles of Go 1.26 programs and off the sources of the libraries at the
// versions that the examples and integration tests use.
var list = []struct {
	class   Class
	pattern string
}{
	// The program and the scheduler.
	// Not its closures: a handler may well be written inside of main.
	{Root, `/^main\.main$/`},
	{Root, "runtime.main"},
	{Root, "runtime.goexit"},
	{Root, "runtime.mcall"},
	{Root, "runtime.park_m"},
	{Root, "runtime.goexit0"},
	{Root, "runtime.goexit1"},
	{Root, "runtime.gosched_m"},
	{Root, "runtime.goschedImpl"},
	{Root, "runtime.gopreempt_m"},
	{Root, "runtime.preemptPark"},
	{Root, "runtime.schedule"},
	{Root, "runtime.findRunnable"},
	{Root, "runtime.exitsyscall0"},
	{Root, "runtime.exitsyscallNoP"},
	{Root, "runtime.mstart"},
	{Root, "runtime.mstart0"},
	{Root, "runtime.mstart1"},
	{Root, "runtime.systemstack"},
	{Root, "runtime.morestack"},
	{Root, "runtime.newstack"},
	{Root, "runtime.sysmon"},
	{Root, "runtime.gcBgMarkWorker"},
	{Root, "runtime.bgsweep"},
	{Root, "runtime.bgscavenge"},
	{Root, "runtime.runfinq"},
	{Root, "runtime.runFinalizers"},
	{Root, "runtime.runCleanups"},
	{Root, "runtime.cgocallback"},
	{Root, "runtime.cgocallbackg"},
	{Root, "runtime.cgocallbackg1"},

	{Interrupt, "runtime.asyncPreempt"},
	{Interrupt, "runtime.asyncPreempt2"},
	// The race detector, which watches the function behind it. Its assembly has
	// names without a package.
	{Interrupt, `/^(runtime\.(race[a-z]+|checkptr\w*)|race[a-z]+|__tsan_\w+)$/`},

	// Tests. What a test function calls is the entry point.
	{Root, "testing.(*M).Run"},
	{Root, "testing.runTests"},
	{Root, "testing.(*B).launch"},
	{Root, "testing.(*B).run1"},
	{Root, "testing.(*B).doBench"},
	{Runner, "testing.tRunner"},
	{Runner, "testing.(*B).runN"},
	{Runner, "testing.(*F).Fuzz"},
	{Runner, "testing.(*B).RunParallel"},
	{Server, "testing/synctest.Test"},

	// profguard: the closure given to guard.Check is run by runWork.
	{Runner, "github.com/profguard/profguard/guard.runWork"},
	{Server, "github.com/profguard/profguard/guard.(*Guard).*"},
	{Server, "github.com/profguard/profguard/guard.Checker.*"},
	{Server, "github.com/profguard/profguard/guard.Check"},
	{Server, "github.com/profguard/profguard/internal/hub.(*Hub).*"},
	{Server, "runtime/pprof.Do"},

	// What starts goroutines: as with a go statement, the function that it is
	// given only says what is to be run.
	{Runner, "sync.(*WaitGroup).Go"},
	{Runner, "golang.org/x/sync/errgroup.(*Group).Go"},
	{Runner, "golang.org/x/sync/errgroup.(*Group).TryGo"},
	{Runner, "golang.org/x/sync/errgroup.(*Group).start"},

	// Runners of functions.
	{Server, "time.goFunc"},
	{Server, "context.AfterFunc"},
	{Server, "context.(*afterFuncCtx).cancel"},
	{Server, "github.com/sourcegraph/conc/..."},
	{Server, "github.com/oklog/run.(*Group).Run"},
	{Server, "github.com/panjf2000/ants/v2.(*goWorker).run"},
	{Server, "github.com/spf13/cobra.(*Command).execute"},
	{Server, "github.com/urfave/cli/v2.(*Command).Run"},
	{Server, "github.com/urfave/cli/v3.(*Command).Run"},
	{Server, "github.com/robfig/cron/v3.(*Cron).startJob"},

	// net/http serving, HTTP/1 and HTTP/2.
	{Server, "net/http.(*conn).serve"},
	{Server, "net/http.serverHandler.ServeHTTP"},
	{Server, "net/http.HandlerFunc.ServeHTTP"},
	{Server, "net/http.(*ServeMux).ServeHTTP"},
	{Server, "net/http.StripPrefix"},
	{Server, "net/http.MaxBytesHandler"},
	{Server, "net/http.(*timeoutHandler).ServeHTTP"},
	{Server, "net/http.initALPNRequest.ServeHTTP"},
	{Server, "net/http.(*http2serverConn).*"},
	{Server, "net/http.http2serverConn.*"},
	{Server, "net/http/internal/http2.(*serverConn).*"},
	{Server, "golang.org/x/net/http2.(*serverConn).*"},
	{Server, "golang.org/x/net/http2/h2c.h2cHandler.ServeHTTP"},
	{Server, "net/http.(*Server).Serve"},
	{Server, "net/rpc.(*service).call"},
	{Root, "net/http.(*Server).ListenAndServe"},

	// gRPC and Connect serving. The generated _Service_Method_Handler functions
	// hand over to the method.
	{Server, "google.golang.org/grpc.(*Server).*"},
	{Server, "google.golang.org/grpc.chainUnaryInterceptors"},
	{Server, "google.golang.org/grpc.chainStreamInterceptors"},
	{Server, "google.golang.org/grpc.getChainUnaryHandler"},
	{Server, "google.golang.org/grpc.getChainStreamHandler"},
	{Server, "google.golang.org/grpc/internal/transport.(*http2Server).HandleStreams"},
	{Server, `/\._[A-Za-z0-9_]+_Handler(\.func[0-9.]+)?$/`},
	{Server, "connectrpc.com/connect.NewUnaryHandler"},
	{Server, "connectrpc.com/connect.(*Handler).ServeHTTP"},
	{Server, "github.com/quic-go/quic-go/http3.(*Server).*"},

	// Routers that do not go through http.HandlerFunc.
	{Server, "github.com/gin-gonic/gin.(*Context).Next"},
	{Server, "github.com/gin-gonic/gin.(*Engine).handleHTTPRequest"},
	{Server, "github.com/labstack/echo/v4.(*Echo).ServeHTTP"},
	{Server, "github.com/labstack/echo/v4.(*Echo).Add"},
	{Server, "github.com/julienschmidt/httprouter.(*Router).ServeHTTP"},
	{Server, "github.com/gofiber/fiber/v2.(*Ctx).Next"},
	{Server, "github.com/gofiber/fiber/v2.(*App).next"},
	{Server, "github.com/valyala/fasthttp.(*Server).serveConn"},
	{Server, "github.com/valyala/fasthttp.(*workerPool).workerFunc"},

	// Anybody's http.Handler.
	{Handler, `/\.ServeHTTP(-fm)?$/`},
}
