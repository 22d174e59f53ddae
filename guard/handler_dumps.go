package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dump"
	"github.com/profguard/profguard/internal/page"
)

const (
	// maxDumps is how many dumps the first page lists: all that the default
	// retention keeps.
	maxDumps = 64
	// topFunctions is a screen full.
	topFunctions = 25
	// maxSidecar and maxProfile are what the store and the capture write at most.
	maxSidecar, maxProfile = 256 << 10, 16 << 20

	// listPatience is how long a page waits for the disk, and drawPatience how
	// long for its turn to decode a profile: half a second at the worst for each
	// that is ahead.
	listPatience = 2 * time.Second
	drawPatience = 5 * time.Second
)

// listDumps asks the store for the newest dumps. A disk that hangs costs one
// goroutine and a sentence on the page.
func (h *handler) listDumps(r *http.Request) ([]dump.Info, string) {
	var dumps *dump.Writer
	if h.g != nil {
		dumps = h.g.writer()
	}
	switch {
	case dumps != nil:
	case h.g != nil && h.g.cfg.DumpDir != "":
		return nil, "no dumps are kept: the guard's state says why"
	default:
		return nil, "no dumps are kept: Config.DumpDir says where they should go"
	}
	const hangs = "the disk that holds the dumps does not answer"
	if !acquire(r, h.listing, listPatience) {
		return nil, hangs
	}
	type list struct {
		infos []dump.Info
		err   error
	}
	reply := make(chan list, 1)
	go func() {
		defer func() { <-h.listing }()
		var l list
		if err := call(func() { l.infos, l.err = dumps.Store().List() }); err != nil {
			l.err = err
		}
		reply <- l
	}()
	timer := time.NewTimer(listPatience)
	defer timer.Stop()
	select {
	case l := <-reply:
		switch {
		case errors.Is(l.err, fs.ErrClosed):
			return nil, h.hasStopped()
		case l.err != nil:
			return nil, l.err.Error()
		case len(l.infos) == 0:
			return nil, "none yet"
		case len(l.infos) > maxDumps:
			return l.infos[:maxDumps], fmt.Sprintf("the newest %d; the others are in %s", maxDumps, h.g.cfg.DumpDir)
		}
		return l.infos, ""
	case <-timer.C:
		return nil, hangs
	}
}

// open opens a file of a dump. Whatever is no name of such a file is not found.
func (h *handler) open(id, file string) (io.ReadSeekCloser, error) {
	if h.g == nil {
		return nil, fs.ErrNotExist
	}
	dumps := h.g.writer()
	if dumps == nil {
		return nil, fs.ErrNotExist
	}
	return dumps.Store().Open(dump.ID(id), file)
}

// read reads a file of a dump, if it is not larger than limit.
func (h *handler) read(id, file string, limit int64) ([]byte, error) {
	f, err := h.open(id, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", file, limit)
	}
	return data, err
}

// file sends a file of a dump.
func (h *handler) file(w http.ResponseWriter, r *http.Request, id, file string) {
	if !acquire(r, h.heavy, 0) {
		tellBusy(w, writeWithin, fmt.Sprintf("%d answers with profiles are under way already", maxHeavy))
		return
	}
	defer func() { <-h.heavy }()
	f, err := h.open(id, file)
	if err != nil {
		h.notFound(w, err)
		return
	}
	defer f.Close()
	kind := "application/octet-stream"
	if strings.HasSuffix(file, ".json") {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	// The store has checked the name: letters, digits, dots and dashes.
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, file))
	http.ServeContent(w, r, "", time.Time{}, f)
}

// notFound answers for a file that cannot be opened.
func (h *handler) notFound(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, fs.ErrClosed):
		refuse(w, http.StatusNotFound, h.hasStopped())
	case errors.Is(err, fs.ErrNotExist):
		refuse(w, http.StatusNotFound, "there is no such dump, or no longer")
	default:
		refuse(w, http.StatusInternalServerError, "the dump cannot be read: "+dump.Reason(err))
	}
}

// hasStopped says why the store answers no more.
func (h *handler) hasStopped() string {
	return "the guard has stopped; its dumps are in " + h.g.cfg.DumpDir
}

// dump shows what a dump is about, and its flame graph.
func (h *handler) dump(w http.ResponseWriter, r *http.Request, id string) {
	at, err := page.ParsePath(r.URL.Query().Get("at"))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if !acquire(r, h.heavy, 0) {
		tellBusy(w, writeWithin, fmt.Sprintf("%d answers with profiles are under way already", maxHeavy))
		return
	}
	defer func() { <-h.heavy }()
	text, err := h.read(id, id+".json", maxSidecar)
	if err != nil {
		h.notFound(w, err)
		return
	}
	var side dump.Sidecar
	if err := json.Unmarshal(text, &side); err != nil {
		refuse(w, http.StatusInternalServerError, "the dump's sidecar cannot be read: "+err.Error())
		return
	}
	p := sidecarPage(id, side)
	data, err := h.read(id, side.Profile, maxProfile)
	var t *decode.Table
	var release func()
	if err == nil {
		t, release, err = h.decode(r, data)
	}
	switch {
	case err != nil:
		p.Note = "the profile cannot be drawn: " + err.Error()
	default:
		p.Flame, p.Top = page.NewFlame(t, side.Build.Path, at), page.Top(t, topFunctions)
		release()
	}
	out, err := h.pages.Profile(p)
	sendPage(w, r, out, err)
}

// decode reads a profile. One is decoded at a time: it may take 64 MiB. release
// must be called when the table is no longer used.
func (h *handler) decode(r *http.Request, data []byte) (t *decode.Table, release func(), err error) {
	if !acquire(r, h.drawing, drawPatience) {
		return nil, nil, errors.New("others are being drawn; try again")
	}
	release = func() { <-h.drawing }
	var d decode.Decoder
	// Hostile files are expected; a decoder that panics is a bug, and no reason to
	// keep the token.
	if failed := call(func() { t, err = d.Bytes(data) }); failed != nil {
		err = failed
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return t, release, nil
}

// sidecarPage lays out what a sidecar says.
func sidecarPage(id string, side dump.Sidecar) page.Profile {
	unit, parts := "", ""
	if set, err := budget.Parse(side.Sentence); err == nil && len(set) == 1 {
		unit = unitOf(set[0])
		parts = offenderUnit(set[0], unit)
	}
	measured := page.Amount(side.Share, unit)
	if side.High > side.Low {
		measured += fmt.Sprintf(" (%s to %s)", page.Amount(side.Low, unit), page.Amount(side.High, unit))
	}
	if side.Limit > 0 {
		measured += " of at most " + page.Amount(side.Limit, unit)
	}
	p := page.Profile{Title: side.Budget, Home: "../"}
	for _, f := range []page.Fact{
		{Name: "budget", Text: side.Sentence},
		{Name: "verdict", Text: side.Verdict},
		{Name: "measured", Text: measured},
		{Name: "samples", Text: fmt.Sprint(side.Samples)},
		{Name: "reason", Text: side.Reason},
		{Name: "window", Text: fmt.Sprintf("%s for %s", side.Window.Start.UTC().Format(time.RFC3339), page.Amount(side.Window.Seconds, "seconds"))},
		{Name: "standing", Text: standing(side)},
		{Name: "host", Text: fmt.Sprintf("%s, process %d", side.Host, side.PID)},
		{Name: "build", Text: strings.Join(strings.Fields(strings.Join([]string{side.Build.Path, side.Build.Version, side.Build.Revision, side.Build.Go, side.Build.Platform}, " ")), " ")},
	} {
		if f.Text != "" {
			p.Facts = append(p.Facts, f)
		}
	}
	for _, o := range side.Offenders {
		shown := page.Offender{Place: page.Place{Name: o.Name, File: o.File, Line: o.Line}, Value: o.Share, Unit: parts}
		if !strings.HasPrefix(o.CalledFrom, o.Name+" ") { // it is the program's own
			shown.Blame.Name = o.CalledFrom
		}
		p.Offenders = append(p.Offenders, shown)
	}
	for _, file := range append([]string{side.Profile, id + ".json"}, side.Companions...) {
		// The sidecar is a file that others may have written.
		if strings.HasPrefix(file, id+".") && !strings.ContainsAny(file, "/\\?#") {
			p.Files = append(p.Files, page.File{Name: strings.TrimPrefix(file, id+"."), Link: id + "/" + file})
		}
	}
	return p
}

// standing says what part a dump plays in its violation.
func standing(side dump.Sidecar) string {
	switch {
	case side.Violation == "":
		return ""
	case side.First && side.Worst:
		return "the first of its violation, and the worst when it was taken"
	case side.First:
		return "the first of its violation"
	case side.Worst:
		return "the worst of its violation when it was taken"
	}
	return ""
}

// unitOf is the unit of a budget's results, for dumps, whose sidecars have none.
func unitOf(b budget.Budget) string {
	switch b.Limit.Unit {
	case "%", "points":
		return "ratio"
	case "cores":
		return "cores"
	case "ns", "us", "ms", "s", "m", "h":
		return "seconds"
	case "":
		if b.Rule == "absent" {
			return "ratio"
		}
		return "count"
	}
	return "bytes"
}
