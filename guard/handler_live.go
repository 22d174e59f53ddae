package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/hub"
	"github.com/profguard/profguard/internal/page"
)

// live admits one live profile at a time.
type live struct {
	mu    sync.Mutex
	until time.Time // when the one under way will be there; zero: none is
}

// begin takes the slot, or says for how long to wait for it.
func (l *live) begin(d time.Duration) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.until.IsZero() {
		return time.Until(l.until), false
	}
	l.until = time.Now().Add(d)
	return 0, true
}

func (l *live) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Time{}
}

// profile takes a CPU profile and sends it, as a file or as a page.
func (h *handler) profile(w http.ResponseWriter, r *http.Request, draw bool) {
	d, err := interval(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if !h.running() {
		refuse(w, http.StatusServiceUnavailable, "the guard does not run, so it takes no profiles")
		return
	}
	// A capture takes 2d + 2 s at the worst; see hub.Capture.
	if !within(w, r, 2*d+2*time.Second) {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("the server's WriteTimeout ends the answer before %v are over, and cannot be extended here; ask for fewer seconds", d))
		return
	}
	kind := "application/octet-stream"
	if draw {
		kind = "text/html; charset=utf-8"
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", kind)
		return // nobody would see the profile
	}
	if !acquire(r, h.heavy, 0) {
		tellBusy(w, writeWithin, fmt.Sprintf("%d answers with profiles are under way already", maxHeavy))
		return
	}
	defer func() { <-h.heavy }()
	wait, ok := h.live.begin(d)
	if !ok {
		tellBusy(w, wait, "a live profile is being taken already")
		return
	}
	window, err := h.capture(r.Context(), d)
	h.live.end()
	within(w, r, 0)
	if err != nil {
		tellLost(w, r, err)
		return
	}
	warning := ""
	t, release, err := h.decode(r, window.Data)
	if err == nil {
		defer release()
		if hub.Check(&window, t); window.Err() != nil {
			// A person who asked shall see what there is, and what is wrong with it.
			warning = window.Err().Error()
		}
	} else {
		warning = err.Error()
	}
	if draw {
		h.flame(w, r, window, t, warning)
		return
	}
	if warning != "" {
		w.Header().Set("Profguard-Warning", page.Clean(warning))
	}
	name := window.Start.UTC().Format("profguard-20060102T150405Z") + ".cpu.pb.gz"
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, name))
	send(w, r, kind, window.Data)
}

// flame shows a profile that was just taken. t is nil when it cannot be read.
func (h *handler) flame(w http.ResponseWriter, r *http.Request, window hub.Window, t *decode.Table, warning string) {
	p := page.Profile{
		Title: fmt.Sprintf("CPU profile of %v", window.Elapsed.Round(10*time.Millisecond)),
		Home:  "./", Live: true, Note: warning,
		Facts: []page.Fact{
			{Name: "started", Text: window.Start.UTC().Format(time.RFC3339)},
			{Name: "CPU used", Text: page.Amount(window.CPU.Seconds(), "seconds")},
		},
	}
	if t != nil {
		p.Flame, p.Top = page.NewFlame(t, h.g.module, nil), page.Top(t, topFunctions)
		if p.Flame.Total == 0 && warning == "" {
			p.Note = "the process used no CPU that a sample would have seen"
		}
	}
	data, err := h.pages.Profile(p)
	sendPage(w, r, data, err)
}

// running reports whether there is a guard at work.
func (h *handler) running() bool {
	if h.g == nil || h.g.cancel == nil {
		return false
	}
	select {
	case <-h.g.done:
		return false
	default:
		return true
	}
}

// capture takes a profile. It ends when the client leaves or the guard stops.
func (h *handler) capture(ctx context.Context, d time.Duration) (hub.Window, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-h.g.done:
			cancel(errStopped)
		case <-ctx.Done():
		}
	}()
	window, err := h.g.seams.capture(ctx, d)
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		return window, errStopped
	}
	return window, err
}

var errStopped = errors.New("the guard was stopped")

// tellLost says why there is no profile.
func tellLost(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody is there to be told
	}
	var l *hub.LostError
	switch {
	case errors.As(err, &l) && (l.Outcome == hub.Busy || l.Outcome == hub.Hung):
		w.Header().Set("Retry-After", strconv.Itoa(defaultSeconds))
		refuse(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, errStopped):
		refuse(w, http.StatusServiceUnavailable, err.Error())
	default:
		refuse(w, http.StatusInternalServerError, err.Error())
	}
}

// interval is how long a profile is asked for.
func interval(r *http.Request) (time.Duration, error) {
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
