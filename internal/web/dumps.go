package web

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
)

const (
	// maxDumps is how many dumps the page lists: all that the default retention
	// keeps.
	maxDumps = 64
	// maxProfile is what a capture writes at most.
	maxProfile = 16 << 20
	// drawPatience is how long an answer waits for its turn to decode a profile,
	// which takes half a second at the worst.
	drawPatience = 5 * time.Second
)

// dumpList is what dumps.json holds.
type dumpList struct {
	Dumps []dumps.Info `json:"dumps"`
	Note  string       `json:"note,omitempty"` // why there are none, or no more
}

// store is where the dumps are, or nil.
func (h *Handler) store() *dumps.Store {
	if h.Dumps == nil {
		return nil
	}
	return h.Dumps()
}

// listDumps lists the newest dumps.
func (h *Handler) listDumps() dumpList {
	store := h.store()
	switch {
	case store == nil && h.Dir != "":
		return dumpList{Note: "no dumps are kept: the guard's state says why"}
	case store == nil:
		return dumpList{Note: "no dumps are kept: Config.DumpDir says where they should go"}
	}
	infos, total, err := store.List(maxDumps)
	switch {
	case errors.Is(err, fs.ErrClosed):
		return dumpList{Note: h.hasStopped()}
	case err != nil:
		return dumpList{Note: err.Error()}
	case len(infos) == 0:
		return dumpList{Note: "none yet"}
	}
	l := dumpList{Dumps: infos}
	if total > maxDumps {
		l.Note = fmt.Sprintf("the newest %d; the others are in %s", maxDumps, h.Dir)
	}
	return l
}

// hasStopped says why the store answers no more.
func (h *Handler) hasStopped() string {
	return "the guard has stopped; its dumps are in " + h.Dir
}

// open opens a file of a dump. Whatever is no name of such a file is not found.
func (h *Handler) open(id, file string) (io.ReadSeekCloser, error) {
	store := h.store()
	if store == nil {
		return nil, fs.ErrNotExist
	}
	return store.Open(dumps.ID(id), file)
}

// dumpPage sends the page, if there is such a dump.
func (h *Handler) dumpPage(w http.ResponseWriter, r *http.Request, id string) {
	f, err := h.open(id, id+".json")
	if err != nil {
		h.notFound(w, err)
		return
	}
	f.Close()
	h.page(w, r)
}

// dumpFile sends a file of a dump, or the flame graph of a profile among them: that
// is <file>.flame.json.
func (h *Handler) dumpFile(w http.ResponseWriter, r *http.Request, id, file string) {
	profile, draw := strings.CutSuffix(file, ".flame.json")
	if draw {
		file = profile
	}
	if !h.heavy.take(r, 0) {
		refuseBusy(w, writeWithin, fmt.Sprintf("%d answers with profiles are under way already", maxHeavy))
		return
	}
	release := sync.OnceFunc(h.heavy.giveBack)
	defer release()
	f, err := h.open(id, file)
	if err != nil {
		h.notFound(w, err)
		return
	}
	if draw {
		defer f.Close()
		h.dumpFlame(w, r, f, release)
		return
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		h.notFound(w, err)
		return
	}
	kind := "application/octet-stream"
	if strings.HasSuffix(file, ".json") {
		kind = "application/json"
	}
	// The store has checked the name: letters, digits, dots and dashes.
	w.Header().Set("Content-Disposition", `attachment; filename="`+file+`"`)
	send(w, r, kind, size, f, func() {
		f.Close()
		release()
	})
}

// dumpFlame sends the flame graph of a dump's profile.
func (h *Handler) dumpFlame(w http.ResponseWriter, r *http.Request, f io.Reader, release func()) {
	data, err := io.ReadAll(io.LimitReader(f, maxProfile+1))
	if err == nil && len(data) > maxProfile {
		err = fmt.Errorf("the profile is larger than %d bytes", maxProfile)
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, "the dump cannot be read: "+err.Error())
		return
	}
	t, done, err := h.decode(r, data)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "the profile cannot be drawn: "+err.Error())
		return
	}
	h.sendFlame(w, r, drawn(t, h.Module, done), release)
}

// drawn makes the flame graph of a decoded profile. A panic must not keep the slot for
// drawing, so done is called in any case.
func drawn(t *decode.Table, module string, done func()) flame {
	defer done()
	return newFlame(t, module)
}

// notFound answers for a file that cannot be opened.
func (h *Handler) notFound(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, fs.ErrClosed):
		refuse(w, http.StatusNotFound, h.hasStopped())
	case errors.Is(err, fs.ErrNotExist):
		refuse(w, http.StatusNotFound, "there is no such dump, or no longer")
	default:
		refuse(w, http.StatusInternalServerError, "the dump cannot be read: "+dumps.Reason(err))
	}
}

// decode reads a profile. One is decoded at a time: it may take 64 MiB. done must be
// called when the table is no longer used.
func (h *Handler) decode(r *http.Request, data []byte) (t *decode.Table, done func(), err error) {
	if !h.drawing.take(r, drawPatience) {
		return nil, nil, errors.New("other profiles are being drawn; try again")
	}
	done = h.drawing.giveBack
	var d decode.Decoder
	// Hostile files are expected. A decoder that panics must not keep the slot.
	if failed := recovered(func() { t, err = d.Bytes(data) }); failed != nil {
		h.Panicked()
		err = fmt.Errorf("the decoder failed: panic: %v", failed)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return t, done, nil
}
