package integration

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/profguard/profguard/label"
)

// The lines between "docs" and "docs end" stand in docs/tenants.md, word for word.

func chiWithLabels(seen http.HandlerFunc) http.Handler {
	r := chi.NewRouter()
	// docs
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			path := cmp.Or(req.URL.RawPath, req.URL.Path)
			endpoint := label.Route(req.Method, r.Find(chi.NewRouteContext(), req.Method, path))
			label.Request(req, label.Endpoint, endpoint, func(req *http.Request) { next.ServeHTTP(w, req) })
		})
	})
	// docs end
	r.Route("/api", func(r chi.Router) { r.Get("/users/{id}", seen) })
	return r
}

func ginWithLabels(seen http.HandlerFunc) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	// docs
	r.Use(func(c *gin.Context) {
		label.Request(c.Request, label.Endpoint, label.Route(c.Request.Method, c.FullPath()), func(r *http.Request) {
			c.Request = r
			c.Next()
		})
	})
	// docs end
	r.GET("/api/users/:id", gin.WrapF(seen))
	return r
}

func echoWithLabels(seen http.HandlerFunc) http.Handler {
	e := echo.New()
	// docs
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) (err error) {
			label.Request(c.Request(), label.Endpoint, label.Route(c.Request().Method, c.Path()), func(r *http.Request) {
				c.SetRequest(r)
				err = next(c)
			})
			return err
		}
	})
	// docs end
	e.GET("/api/users/:id", echo.WrapHandler(seen))
	return e
}

// docs
func endpoint(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	label.Do(ctx, label.Endpoint, info.FullMethod, func(ctx context.Context) { resp, err = next(ctx, req) })
	return resp, err
}

func endpointOfStream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	label.Do(s.Context(), label.Endpoint, info.FullMethod, func(ctx context.Context) { err = next(srv, labelledStream{s, ctx}) })
	return err
}

type labelledStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s labelledStream) Context() context.Context { return s.ctx }

// docs end

// TestRoutersWithLabels asks each router for a user, also one whose ID has a slash, and for what it does not have. A client
// cannot make up values.
func TestRoutersWithLabels(t *testing.T) {
	for name, c := range map[string]struct {
		router func(http.HandlerFunc) http.Handler
		want   string
	}{
		"chi":  {chiWithLabels, "GET /api/users/{id}"},
		"gin":  {ginWithLabels, "GET /api/users/:id"},
		"echo": {echoWithLabels, "GET /api/users/:id"},
	} {
		got := ""
		h := c.router(func(_ http.ResponseWriter, r *http.Request) { got, _ = pprof.Label(r.Context(), label.Endpoint) })
		for _, path := range []string{"/api/users/4711", "/api/users/47%2F11"} {
			if name == "gin" && path != "/api/users/4711" {
				continue // unless it is told, it splits there
			}
			got = ""
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
			if got != c.want {
				t.Errorf("%s: the endpoint of %s is %q, want %q", name, path, got, c.want)
			}
		}
		for path, method := range map[string]string{"/none/4711": "GET", "/none": "MADE-UP", "/api/users/4711": "MADE-UP"} {
			w := writer{ResponseRecorder: httptest.NewRecorder()}
			if h.ServeHTTP(&w, httptest.NewRequest(method, path, nil)); w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s: %d for %s %s", name, w.Code, method, path)
			}
			if strings.Contains(w.running, "4711") || strings.Contains(w.running, method) {
				t.Errorf("%s: for %s %s, the goroutine has the labels %s", name, method, path, w.running)
			}
		}
	}
}

// A writer notes the labels of the goroutine that answers.
type writer struct {
	*httptest.ResponseRecorder
	running string
}

func (w *writer) WriteHeader(code int) {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
	for stack := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(stack, "integration.(*writer).WriteHeader") {
			_, after, _ := strings.Cut(stack, "# labels: ")
			w.running, _, _ = strings.Cut(after, "\n")
		}
	}
	w.ResponseRecorder.WriteHeader(code)
}

// TestGRPCWithLabels calls a method, and opens a stream, over loopback.
func TestGRPCWithLabels(t *testing.T) {
	got, streamed := "", ""
	server := grpc.NewServer(grpc.UnaryInterceptor(endpoint), grpc.StreamInterceptor(endpointOfStream))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Users", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Get",
		Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(emptypb.Empty)
			if err := decode(in); err != nil {
				return nil, err
			}
			return intercept(ctx, in, &grpc.UnaryServerInfo{FullMethod: "/test.Users/Get"}, func(ctx context.Context, _ any) (any, error) {
				got, _ = pprof.Label(ctx, label.Endpoint)
				return in, nil
			})
		},
	}}, Streams: []grpc.StreamDesc{{StreamName: "Watch", ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
		streamed, _ = pprof.Label(s.Context(), label.Endpoint)
		return nil
	}}}}, struct{}{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Invoke(t.Context(), "/test.Users/Get", new(emptypb.Empty), new(emptypb.Empty)); err != nil {
		t.Fatal(err)
	}
	s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, "/test.Users/Watch")
	if err == nil {
		err = s.CloseSend()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(new(emptypb.Empty)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if got != "/test.Users/Get" || streamed != "/test.Users/Watch" {
		t.Errorf("the endpoints are %q and %q", got, streamed)
	}
}

// TestTenantsPage compares the page with the lines that were run above.
func TestTenantsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/tenants.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("labels_test.go")
	if err != nil {
		t.Fatal(err)
	}
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	snippets := regexp.MustCompile(`(?s)\n\t?// docs\n(.*?)\n\t?// docs end\n`).FindAllSubmatch(source, -1)
	if len(snippets) != 4 {
		t.Fatalf("%d snippets, want 4", len(snippets))
	}
	for _, s := range snippets {
		if !strings.Contains(flat(string(page)), flat(string(s[1]))) {
			t.Errorf("docs/tenants.md lacks the lines\n%s", s[1])
		}
	}
}
