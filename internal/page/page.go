package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"time"
)

//go:embed page.html
var source string

//go:embed style.css
var style string

// Pages renders the documents. It is safe for concurrent use; [New] makes it.
type Pages struct {
	templates *template.Template
	policy    string
}

// New parses the templates.
func New() *Pages {
	funcs := template.FuncMap{
		"clean":  Clean,
		"short":  func(name string) string { return Clean(Short(name)) },
		"amount": Amount,
		"style":  func() template.CSS { return template.CSS(style) },
		"utc":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"upper":  strings.ToUpper,
	}
	sum := sha256.Sum256([]byte(style))
	return &Pages{
		templates: template.Must(template.New("page").Funcs(funcs).Parse(source)),
		// The one style sheet is allowed by its hash. The icon, an empty one, keeps
		// browsers from asking the host for theirs.
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; " +
			"form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	}
}

// Policy is the Content-Security-Policy under which the documents work.
func (p *Pages) Policy() string { return p.policy }

// Overview renders the guard's page.
func (p *Pages) Overview(o Overview) ([]byte, error) { return p.render("overview", o) }

// Profile renders the page of one profile.
func (p *Pages) Profile(d Profile) ([]byte, error) { return p.render("profile", d) }

// render goes through memory, so that an error is not half a page.
func (p *Pages) render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("render %s page: %w", name, err)
	}
	return b.Bytes(), nil
}
