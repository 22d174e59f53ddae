package dumps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"
)

// Sidecar is the JSON file beside a profile.
type Sidecar struct {
	ID    ID        `json:"id"`
	Start time.Time `json:"start,omitzero"` // of the window
	End   time.Time `json:"end"`
	// Budget is where the budget stood with that window, as the caller of
	// [Store.Offer] has put it: this package does not look into it.
	Budget json.RawMessage `json:"budget,omitempty"`
	Mark   string          `json:"mark,omitempty"`
	Build  string          `json:"build,omitempty"` // the main module, its version, Go's, and the platform
	Host   string          `json:"host,omitempty"`
	PID    int             `json:"pid"`
	Files  []string        `json:"files"` // their names, the profile of the budget first
}

// maxSidecar bounds what is written and read back. A sidecar has 2 KiB; names of generic
// functions of several KiB leave it below 100.
const maxSidecar = 256 << 10

// encode marshals s.
func (s *Sidecar) encode() ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	if err == nil && len(data) >= maxSidecar {
		err = fmt.Errorf("%w: %d bytes, at most %d are written", ErrLimit, len(data), maxSidecar)
	}
	if err != nil {
		return nil, fmt.Errorf("encode sidecar: %w", err)
	}
	return append(data, '\n'), nil
}

// decodeSidecar reads no more than encode writes, escaped as encode does it: what is sent
// to a browser is escaped again, and nothing of a store's own is longer then.
func decodeSidecar(r io.Reader) (Sidecar, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSidecar+1))
	if err != nil {
		return Sidecar{}, fmt.Errorf("read sidecar: %w", err)
	}
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, data)
	if escaped.Len() > maxSidecar {
		return Sidecar{}, fmt.Errorf("read sidecar: over %d bytes", maxSidecar)
	}
	var s Sidecar
	if err := json.Unmarshal(data, &s); err != nil {
		return Sidecar{}, fmt.Errorf("decode sidecar: %w", err)
	}
	return s, nil
}

// buildOf is what the linker knows of the program. The version names the commit.
func buildOf() string {
	program := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		program = info.Main.Path + " " + info.Main.Version + " "
	}
	return fmt.Sprintf("%s%s %s/%s", program, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
