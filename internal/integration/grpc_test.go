package integration

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/profguard/profguard/budget"
)

// TestGRPC serves a method over loopback and judges the profile of it: a method
// that spreads its work passes, and of one that does not, the largest is named,
// not gRPC's serving chain and not the method. With interceptors and without.
func TestGRPC(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a server for seconds")
	}
	interceptors := grpc.ChainUnaryInterceptor(logging, authorising)
	for name, options := range map[string][]grpc.ServerOption{"plain": nil, "intercepted": {interceptors}} {
		t.Run(name+"/even", func(t *testing.T) {
			serveGRPC(t, evenGreeter{}, options...)
			if r := judgeLive(t); r.Verdict != budget.Pass {
				t.Errorf("want pass:\n%s", r)
			}
		})
		t.Run(name+"/one callee", func(t *testing.T) {
			serveGRPC(t, unevenGreeter{}, options...)
			r := judgeLive(t)
			if r.Verdict != budget.Fail || len(r.Offenders) == 0 {
				t.Fatalf("want fail:\n%s", r)
			}
			_, file, _, _ := runtime.Caller(0)
			if o := r.Offenders[0]; !strings.HasSuffix(o.Function, "integration.largest") || filepath.Base(o.File) != filepath.Base(file) {
				t.Errorf("the offender is %s at %s:%d, want largest in %s\n%s", o.Function, o.File, o.Line, file, r)
			}
		})
	}
}

// judgeLive profiles until the budget is decided, with windows that become longer.
func judgeLive(t *testing.T) budget.Result {
	t.Helper()
	set := budget.Must("no function above 20% cumulative except integration.loop, runtime/..., syscall, internal/...")
	var all []*profile.Profile
	for d, spent := time.Second, time.Duration(0); ; d = max(d, spent/2) {
		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			t.Fatal("the CPU profiler is taken: ", err) // by whom, in a process of our own?
		}
		time.Sleep(d) // the length of the window
		pprof.StopCPUProfile()
		p, err := profile.ParseData(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		merged, err := profile.Merge(all)
		if err != nil {
			t.Fatal(err)
		}
		results, err := set.Judge(merged, budget.Facts{Module: "github.com/profguard/profguard"})
		if err != nil {
			t.Fatal(err)
		}
		r := results[0]
		if spent += d; r.Verdict != budget.Inconclusive || spent > 32*time.Second {
			t.Logf("after %d samples:\n%s", r.Samples, r)
			return r
		}
	}
}

type greeterServer interface {
	SayHello(context.Context, *emptypb.Empty) (*emptypb.Empty, error)
}

// The methods do their work themselves: they are the entry points.

type evenGreeter struct{}

func (evenGreeter) SayHello(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	sink = partA(tick) + partB(tick) + partC(tick) + partD(tick) + partE(tick) +
		partF(tick) + partG(tick) + partH(tick) + partI(tick) + partJ(tick)
	return &emptypb.Empty{}, nil
}

type unevenGreeter struct{}

func (unevenGreeter) SayHello(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	sink = largest(15*tick) + partA(tick) + partB(tick) + partC(tick) + partD(tick) + partE(tick) +
		partF(tick) + partG(tick) + partH(tick) + partI(tick) + partJ(tick)
	return &emptypb.Empty{}, nil
}

// _Greeter_SayHello_Handler is what protoc-gen-go-grpc writes for a method.
func _Greeter_SayHello_Handler(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	in := new(emptypb.Empty)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(greeterServer).SayHello(ctx, in)
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/test.Greeter/SayHello"}
	handler := func(ctx context.Context, req any) (any, error) {
		return srv.(greeterServer).SayHello(ctx, req.(*emptypb.Empty))
	}
	return interceptor(ctx, in, info, handler)
}

var greeterDesc = grpc.ServiceDesc{
	ServiceName: "test.Greeter",
	HandlerType: (*greeterServer)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "SayHello", Handler: _Greeter_SayHello_Handler}},
}

func logging(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	return next(ctx, req)
}

func authorising(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	return next(ctx, req)
}

// serveGRPC runs the service under load while the test runs.
func serveGRPC(t *testing.T, g greeterServer, options ...grpc.ServerOption) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal("there is no loopback network: ", err) // which all of this module needs
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&greeterDesc, g)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := server.Serve(l); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := conn.Invoke(ctx, "/test.Greeter/SayHello", &emptypb.Empty{}, &emptypb.Empty{}); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		conn.Close()
		server.Stop()
		wg.Wait()
	})
}

// The work: ten callees of equal cost, and one of its own.

var sink float64

// tick iterations are about a tenth of a millisecond, so that serving them is
// small beside.
const tick = 50_000

//go:noinline
func largest(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func loop(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func partA(n int) float64 { return loop(n) }

//go:noinline
func partB(n int) float64 { return loop(n) }

//go:noinline
func partC(n int) float64 { return loop(n) }

//go:noinline
func partD(n int) float64 { return loop(n) }

//go:noinline
func partE(n int) float64 { return loop(n) }

//go:noinline
func partF(n int) float64 { return loop(n) }

//go:noinline
func partG(n int) float64 { return loop(n) }

//go:noinline
func partH(n int) float64 { return loop(n) }

//go:noinline
func partI(n int) float64 { return loop(n) }

//go:noinline
func partJ(n int) float64 { return loop(n) }
