package main

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An authority of one's own is named as for other programs. It is read once in a process, so each has its own.
func TestOwnAuthority(t *testing.T) {
	target := httptest.NewTLSServer(working(t, true).Config.Handler)
	defer target.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	put(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: target.Certificate().Raw})))
	check := []string{"check", "-budget", "goroutines below 100000", target.URL}
	rollout := []string{"rollout", "-job", "shop", "-prometheus", target.URL}
	for _, tt := range []struct {
		file string
		args []string
		want string
	}{
		{authority, check, "1 kept"},
		{"/dev/null", check, "SSL_CERT_FILE names a file"},
		{authority, rollout, "no JSON"},
		{"/dev/null", rollout, "SSL_CERT_FILE names a file"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], tt.args...)
		cmd.Env = append(os.Environ(), asCommand+"=1", "SSL_CERT_FILE="+tt.file)
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), tt.want) {
			t.Errorf("%q, SSL_CERT_FILE=%s: want %q in\n%s", tt.args, tt.file, tt.want, out)
		}
	}
}
