package web

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
)

// maxDumps is the most dumps that the page lists: all that the default retention keeps.
const maxDumps = 64

// dumpList is the content of dumps.json.
type dumpList struct {
	Dumps []dumps.Info `json:"dumps"`
	Note  string       `json:"note"` // where they are, or why there are none
}

// listDumps lists the newest dumps.
func (h *Handler) listDumps() dumpList {
	store := h.Dumps()
	if store == nil {
		return dumpList{Note: "no dumps are kept: Config.DumpDir is empty, or the guard's state says why"}
	}
	infos, total, err := store.List(maxDumps)
	note := fmt.Sprintf("%d of %d dumps in %s", len(infos), total, h.Dir)
	if err != nil {
		note += "; " + err.Error()
	}
	return dumpList{Dumps: infos, Note: note}
}

// open opens a file of a dump. For any other name it refuses the request and returns nil.
func (h *Handler) open(w http.ResponseWriter, id, file string) io.ReadSeekCloser {
	err := fs.ErrNotExist
	if store := h.Dumps(); store != nil {
		var f io.ReadSeekCloser
		if f, err = store.Open(dumps.ID(id), file); err == nil {
			return f
		}
	}
	refuse(w, http.StatusNotFound, "there is no such dump any more: "+err.Error())
	return nil
}

// dumpPage sends the page, if the dump exists.
func (h *Handler) dumpPage(w http.ResponseWriter, id string) {
	if f := h.open(w, id, id+".json"); f != nil {
		f.Close()
		sendText(w, "text/html", h.static)
	}
}

// dumpFile sends a file of a dump, or the flame graph of one, which is <file>.flame.json.
func (h *Handler) dumpFile(w http.ResponseWriter, id, file string) {
	file, draw := strings.CutSuffix(file, ".flame.json")
	f := h.open(w, id, file)
	if f == nil {
		return
	}
	defer f.Close()
	if draw {
		h.sendFlame(w, func(d *decode.Decoder) (*decode.Table, error) { return d.Decode(f) })
		return
	}
	kind := "application/octet-stream"
	if strings.HasSuffix(file, ".json") {
		kind = "application/json"
	}
	// The store has checked the name: letters, digits, dots and dashes.
	w.Header().Set("Content-Disposition", `attachment; filename="`+file+`"`)
	send(w, kind, f)
}

// draw makes the flame graph of a profile. One is decoded at a time: it may take 64 MiB, and
// half a second.
func (h *Handler) draw(read func(*decode.Decoder) (*decode.Table, error)) (flame, error) {
	h.drawing.Lock()
	defer h.drawing.Unlock()
	t, err := read(new(decode.Decoder))
	if err != nil {
		return flame{Module: h.Module}, err
	}
	return newFlame(t, h.Module), nil
}

// sendFlame sends the flame graph of a profile.
func (h *Handler) sendFlame(w http.ResponseWriter, read func(*decode.Decoder) (*decode.Table, error)) {
	f, err := h.draw(read)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "the profile cannot be drawn: "+err.Error())
		return
	}
	sendJSON(w, f)
}
