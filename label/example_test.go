package label_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/profguard/profguard/label"
)

func ExampleHandler() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(labels(r.Context()))
	})
	h := label.Handler(mux)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/users/4711", nil))
	// Output: endpoint=GET /users/{id}
}

func ExampleDo() {
	label.Do(context.Background(), "tenant", "acme", func(ctx context.Context) {
		fmt.Println(labels(ctx))
	})
	// Output: tenant=acme
}

func ExampleRequest() {
	r := httptest.NewRequest("GET", "/", nil)
	label.Request(r, "tenant", "acme", func(r *http.Request) {
		fmt.Println(labels(r.Context()))
	})
	// Output: tenant=acme
}

func ExampleRoute() {
	fmt.Println(label.Route("GET", "/users/:id"))
	fmt.Println(label.Route("MADE-UP", "/users/:id"))
	// Output:
	// GET /users/:id
	// /users/:id
}
