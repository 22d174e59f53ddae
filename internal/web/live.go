package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/profguard/profguard/internal/profiler"
)

// Ten seconds are a window, and a minute is as long as somebody waits for a page.
const defaultSeconds, maxSeconds = 10, 60

// live admits one live profile at a time. It knows when the one under way will be there;
// nil: none is.
type live struct{ until atomic.Pointer[time.Time] }

// begin takes the turn, or says how long to wait for it.
func (l *live) begin(d time.Duration) (wait time.Duration, ok bool) {
	end := time.Now().Add(d)
	if l.until.CompareAndSwap(nil, &end) {
		return 0, true
	}
	if other := l.until.Load(); other != nil {
		wait = time.Until(*other)
	}
	return wait, false
}

func (l *live) end() { l.until.Store(nil) }

// profile takes a CPU profile and sends it, as it is or as a flame graph.
func (h *Handler) profile(w http.ResponseWriter, r *http.Request, draw bool) {
	d, err := seconds(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if !h.running() {
		refuse(w, http.StatusServiceUnavailable, "the guard does not run, so it takes no profiles")
		return
	}
	// A capture takes 2d + 2 s at the worst; see [profiler.Hub.Capture].
	if !within(w, r, 2*d+2*time.Second) {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("the server's WriteTimeout ends the answer before %v are over, and cannot be extended here; ask for fewer seconds", d))
		return
	}
	kind := "application/octet-stream"
	if draw {
		kind = "application/json"
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", kind)
		return // nobody would see the profile
	}
	if !h.heavy.take(r, 0) {
		refuseBusy(w, writeWithin, fmt.Sprintf("%d answers with profiles are under way already", maxHeavy))
		return
	}
	// Until the answer is sent, a return or a panic gives the slot back.
	release := sync.OnceFunc(h.heavy.giveBack)
	defer release()
	wait, ok := h.live.begin(d)
	if !ok {
		refuseBusy(w, wait, "a live profile is being taken already")
		return
	}
	window, err := func() (profiler.Window, error) {
		defer h.live.end()
		return h.capture(r.Context(), d)
	}()
	within(w, r, 0)
	if err != nil {
		refuseLost(w, r, window.Outcome, err)
		return
	}
	flame, warning := h.inspect(r, &window)
	if draw {
		flame.Warning = warning
		h.sendFlame(w, r, flame, release)
		return
	}
	if warning != "" {
		w.Header().Set("Profguard-Warning", oneLine(warning))
	}
	name := window.Start.UTC().Format("profguard-20060102T150405Z") + ".cpu.pb.gz"
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	send(w, r, kind, int64(len(window.Data)), bytes.NewReader(window.Data), release)
}

// inspect decodes a profile that was just taken. A person who asked shall see what
// there is, and what is wrong with it.
func (h *Handler) inspect(r *http.Request, window *profiler.Window) (flame, string) {
	t, release, err := h.decode(r, window.Data)
	if err != nil {
		return flame{Module: h.Module}, err.Error()
	}
	defer release()
	profiler.Check(window, t)
	f := newFlame(t, h.Module)
	switch {
	case window.Err() != nil:
		return f, window.Err().Error()
	case f.Total == 0:
		return f, "the process used no CPU that a sample would have seen"
	}
	return f, ""
}

// capture takes a profile. It ends when the client leaves or the guard stops.
func (h *Handler) capture(ctx context.Context, d time.Duration) (profiler.Window, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-h.Stopped:
			cancel(errStopped)
		case <-ctx.Done():
		}
	}()
	window, err := h.Capture(ctx, d)
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		return window, errStopped
	}
	return window, err
}

var errStopped = errors.New("the guard was stopped")

// refuseLost says why there is no profile.
func refuseLost(w http.ResponseWriter, r *http.Request, outcome profiler.Outcome, err error) {
	if r.Context().Err() != nil {
		return // the client has left
	}
	switch {
	case outcome == profiler.Busy || outcome == profiler.Hung:
		w.Header().Set("Retry-After", strconv.Itoa(defaultSeconds))
		refuse(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, errStopped):
		refuse(w, http.StatusServiceUnavailable, err.Error())
	default:
		refuse(w, http.StatusInternalServerError, err.Error())
	}
}

// seconds is how long a profile is asked for.
func seconds(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("seconds")
	if text == "" {
		return defaultSeconds * time.Second, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxSeconds {
		return 0, fmt.Errorf("seconds: expected a whole number from 1 to %d, found %.40q", maxSeconds, text)
	}
	return time.Duration(n) * time.Second, nil
}
