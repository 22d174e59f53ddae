package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"
)

//go:embed page.html
var markup string

//go:embed page.css
var style string

//go:embed page.js
var script string

// static is the page, with its style sheet and script in it, so that the handler
// needs no paths for them.
func static() []byte {
	return []byte(strings.NewReplacer("/*style*/", style, "/*script*/", script).Replace(markup))
}

// policy is the Content-Security-Policy of all answers. The empty icon in the page
// keeps browsers from asking the host for theirs. Trusted types forbid the script to
// make HTML out of text.
func policy() string {
	return "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) + "; connect-src 'self'; img-src data:; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page sends the page.
func (h *Handler) page(w http.ResponseWriter, r *http.Request) {
	send(w, r, "text/html; charset=utf-8", bytes.NewReader(h.static), func() {})
}
