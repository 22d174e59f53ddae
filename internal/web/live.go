package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/profiler"
)

// The length of a profile: by default that of a window, and at most a minute, as people do not
// wait longer for a page.
const defaultSeconds, maxSeconds = "10", 60

// profile takes a CPU profile and sends it, as it is or as a flame graph.
func (h *Handler) profile(w http.ResponseWriter, r *http.Request, draw bool) {
	d, err := seconds(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if h.Running == nil || h.Running.Err() != nil {
		refuse(w, http.StatusServiceUnavailable, "the guard is not running, so it takes no profiles")
		return
	}
	// A capture takes 2d + 2 s at the worst; see [profiler.Hub.Capture].
	if !within(w, r, 2*d+2*time.Second) {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("the server's WriteTimeout ends the answer before %v are over, and cannot be extended here; ask for fewer seconds", d))
		return
	}
	var window profiler.Window
	taken := false
	h.live.use(w, "a live profile is being taken already", func() {
		ctx, cancel := context.WithCancel(r.Context()) // the client leaves
		defer cancel()
		defer context.AfterFunc(h.Running, cancel)()
		window, err = h.Capture(ctx, d)
		taken = true
	})
	if !taken {
		return
	}
	within(w, r, 0)
	if err != nil {
		w.Header().Set("Retry-After", retryAfter)
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if draw {
		f, err := h.draw(func(d *decode.Decoder) (*decode.Table, error) {
			t, err := window.Source.Table(d)
			if err == nil {
				profiler.Check(&window, t)
			}
			return t, err
		})
		if err = cmp.Or(err, window.Err()); err != nil { // it is shown all the same
			f.Warning = err.Error()
		}
		sendJSON(w, f)
		return
	}
	sendProfile(w, window.Start.UTC().Format("profguard-20060102T150405Z")+".cpu.pb.gz", window.Bytes())
}

// seconds is how long a profile is asked for.
func seconds(r *http.Request) (time.Duration, error) {
	text := cmp.Or(r.URL.Query().Get("seconds"), defaultSeconds)
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxSeconds {
		return 0, fmt.Errorf("seconds: expected a whole number from 1 to %d, found %.40q", maxSeconds, text)
	}
	return time.Duration(n) * time.Second, nil
}
