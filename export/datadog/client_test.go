package datadog

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// What cannot be read goes on all the same. That profiles are judged is tested with the real
// agent, in internal/receivers.
func TestHostile(t *testing.T) {
	z, _ := zstd.NewWriter(nil)
	bomb := z.EncodeAll(make([]byte, 2*maxPlain), nil)
	if out, err := plain(bomb); err == nil && len(out) > maxPlain {
		t.Errorf("%d bytes of a bomb", len(out))
	}
	if out, err := plain(z.EncodeAll([]byte("profile"), nil)); err != nil || string(out) != "profile" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := plain([]byte("\x1f\x8bx")); err != nil || len(out) != 3 {
		t.Errorf("gzip: %q, %v", out, err)
	}
	var arrived []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { arrived, _ = io.ReadAll(r.Body) }))
	defer server.Close()
	for name, cpu := range map[string][]byte{"bomb": bomb, "cut": bomb[:len(bomb)/2], "text": []byte("<html>"), "none": nil} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		part, _ := w.CreateFormFile("cpu.pprof", "cpu.pprof")
		part.Write(cpu)
		w.Close()
		want := bytes.Clone(body.Bytes())
		resp, err := Client(nil, server.Client()).Post(server.URL, w.FormDataContentType(), &body)
		if err != nil || resp.StatusCode != 200 || !bytes.Equal(arrived, want) {
			t.Errorf("%s: %v, %d of %d bytes arrived", name, err, len(arrived), len(want))
		}
	}
}
