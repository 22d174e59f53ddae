// Package datadog lets a guard judge the CPU profiles of Datadog's profiler. A guard gets no windows of
// its own beside it, because it has the process's one CPU profiler all the time:
//
//	import "github.com/DataDog/dd-trace-go/v2/profiler"
//
//	profiler.Start(profiler.WithHTTPClient(datadog.Client(g, nil)), ...)
//
// It needs nothing of dd-trace-go.
package datadog

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/export"
)

// Client returns the HTTP client for Datadog's profiler. The guard judges the CPU profiles that the
// profiler sends, also if the agent does not take them. From this call on it takes no CPU profiles
// itself. The profiler's requests go on unchanged, through base. nil means [http.DefaultTransport]. If
// the profiler reaches the agent by a Unix socket, give a base that dials it. A nil guard judges
// nothing.
func Client(g *guard.Guard, base *http.Client) *http.Client {
	g.ExpectFeed()
	var c http.Client
	if base != nil {
		c = *base
	}
	c.Transport = export.NewTap(c.Transport, isUpload, func(r *http.Request, body []byte) { feed(g, r, body) })
	return &c
}

func isUpload(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data")
}

// feed hands the CPU profile in a request to the guard. Its error becomes an event of the guard.
func feed(g *guard.Guard, r *http.Request, body []byte) {
	data := export.Part(r, body, func(p *multipart.Part) bool { return p.FileName() == "cpu.pprof" })
	if data == nil {
		return
	}
	if data, err := plain(data); err == nil {
		// The request says when its batch began, and the profile when it did.
		start, end := times(data)
		_ = g.Feed(data, start, end)
	}
}

// maxPlain limits what a profile becomes when it is inflated, as decoders do.
const maxPlain = 32 << 20

// plain is a profile without zstd's compression, which guards do not read. One with gzip's stays
// as it is.
func plain(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return data, nil
	}
	z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPlain))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return io.ReadAll(io.LimitReader(z, maxPlain))
}

// times are when a profile was started and stopped, as it says itself.
func times(data []byte) (start, end time.Time) {
	t, err := new(decode.Decoder).Bytes(data)
	if err != nil {
		return start, end // the guard says what is wrong
	}
	start = time.Unix(0, t.TimeNanos)
	return start, start.Add(time.Duration(t.DurationNanos))
}
