package web

import (
	"net/http"

	"github.com/profguard/profguard/internal/decode"
)

// noWindow is what the page says where there is nothing to draw. That is no error: browsers would log one.
const noWindow = "there was no good window yet since the page was mounted"

// release answers with the profile of this build, or of the one before.
func (h *Handler) release(w http.ResponseWriter, name string) {
	var data []byte
	if h.Release != nil {
		data = h.Release(name == "before.pb.gz")
	}
	if data == nil {
		refuse(w, http.StatusNotFound, "there is no build to compare with")
		return
	}
	sendProfile(w, name, data)
}

// lastWindow answers with the profile of the last good window, as it is or as a flame graph.
func (h *Handler) lastWindow(w http.ResponseWriter, draw bool) {
	var profile decode.Source
	if h.Window != nil {
		profile = h.Window()
	}
	switch {
	case profile.IsEmpty() && draw:
		sendJSON(w, flame{Warning: noWindow})
	case profile.IsEmpty():
		refuse(w, http.StatusNotFound, noWindow)
	case draw:
		h.sendFlame(w, profile.Table)
	default:
		sendProfile(w, "window.pb.gz", profile.Bytes())
	}
}
