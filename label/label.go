// Package label sets the pprof labels that tell for whom a program works:
//
//	http.ListenAndServe(":8080", label.Handler(mux)) // endpoint: the pattern that the mux chooses
//
//	label.Request(r, "tenant", id, func(r *http.Request) { next.ServeHTTP(w, r) })
//
//	label.Do(ctx, "tenant", id, func(ctx context.Context) { ... })
//
// Budgets such as "no endpoint above 30%" and "no tenant above 0.5 cores" read them. A goroutine
// inherits the labels of the goroutine that starts it, so its work counts for the request even
// after the request has ended. Labels that other code has set in a context stay.
//
// Use keys with at most a few hundred values, such as tenants and endpoints, and no IDs of
// requests. Each value makes samples of its own, and a budget judges 1,000 values.
package label

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Endpoint is the label that [Handler] sets.
const Endpoint = "endpoint"

// Handler serves the requests of mux with the label endpoint, in the context of the request and on
// its goroutine. Its value is the pattern that mux chooses, such as "GET /users/{id}". It is never
// the path, because clients can make up any number of paths. Requests without a pattern,
// and those that mux redirects, have no label. The handler gets the server's own ResponseWriter, so
// that it may hijack the connection.
//
// It costs some hundred nanoseconds and two allocations for each request. With wildcards in the
// pattern, mux chooses a second time.
func Handler(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern == "" || reflect.TypeOf(h) == redirect { // which may have the path in the pattern's place
			mux.ServeHTTP(w, r)
			return
		}
		if strings.Contains(r.Pattern, "{") || strings.Contains(pattern, "{") {
			h = mux // which knows the values of wildcards, and forgets those of a mux around it
		}
		r.Pattern = pattern // as mux does, also for who has called this handler
		Request(r, Endpoint, pattern, func(r *http.Request) { h.ServeHTTP(w, r) })
	})
}

// Request calls f with a request that has a label in its context, and on this goroutine while f runs, as [Do] does. Forms
// that f parses are those of r, too: the server removes their files.
func Request(r *http.Request, key, value string, f func(*http.Request)) {
	own := with(r.Context(), key, value)
	labelled := r.WithContext(&own)
	defer func() {
		pprof.SetGoroutineLabels(r.Context())
		r.Form, r.PostForm, r.MultipartForm = labelled.Form, labelled.PostForm, labelled.MultipartForm
	}()
	pprof.SetGoroutineLabels(&own)
	f(labelled)
}

// Route is the value of [Endpoint] for a pattern that another router has chosen, "" without one: "GET /users/{id}".
// A method that a client has made up is left out.
func Route(method, pattern string) string {
	if pattern == "" || !slices.Contains(methods, method) {
		return pattern
	}
	return method + " " + pattern
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect,
	http.MethodOptions, http.MethodTrace,
}

var redirect = reflect.TypeOf(http.RedirectHandler("/", http.StatusFound))

// Do calls f with a label in its context, and on this goroutine while f runs, as [pprof.Do] does. It is
// faster than pprof.Do for values that it has seen before.
func Do(ctx context.Context, key, value string, f func(context.Context)) {
	defer pprof.SetGoroutineLabels(ctx)
	own := with(ctx, key, value)
	pprof.SetGoroutineLabels(&own)
	f(&own)
}

// A labelled is a context with the labels of another one.
type labelled struct {
	context.Context
	labels context.Context
}

// Value is that of the labels, which have nothing but what package pprof asks for, or of the context.
func (l *labelled) Value(key any) any {
	if v := l.labels.Value(key); v != nil {
		return v
	}
	return l.Context.Value(key)
}

// with is a context with one more label. Package pprof makes labels in several allocations, so those
// of a context that has no others are kept.
func with(ctx context.Context, key, value string) labelled {
	others := false
	pprof.ForLabels(ctx, func(string, string) bool { others = true; return false })
	if others {
		return labelled{pprof.WithLabels(ctx, pprof.Labels(key, value)), context.Background()}
	}
	return labelled{ctx, kept.of(key, value)}
}

// A pair is a label.
type pair struct{ key, value string }

// The most labels that are kept, and the longest: a client may choose the values.
const mostKept, longestKept = 1000, 200

// A memory keeps labels, which all goroutines read and which rarely change.
type memory struct {
	mu  sync.Mutex // for writers
	all atomic.Pointer[map[pair]context.Context]
}

var kept memory

// of is a context that has nothing but the label.
func (m *memory) of(key, value string) context.Context {
	if c := m.get(pair{key, value}); c != nil {
		return c
	}
	key, value = strings.Clone(key), strings.Clone(value) // they may be parts of a long text
	c := pprof.WithLabels(context.Background(), pprof.Labels(key, value))
	m.keep(pair{key, value}, c)
	return c
}

func (m *memory) get(p pair) context.Context {
	if all := m.all.Load(); all != nil {
		return (*all)[p]
	}
	return nil
}

func (m *memory) keep(p pair, c context.Context) {
	if len(p.key)+len(p.value) > longestKept {
		return
	}
	if all := m.all.Load(); all != nil && len(*all) >= mostKept {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next := map[pair]context.Context{}
	if all := m.all.Load(); all != nil {
		maps.Copy(next, *all)
	}
	if len(next) < mostKept {
		next[p] = c
	}
	m.all.Store(&next)
}
