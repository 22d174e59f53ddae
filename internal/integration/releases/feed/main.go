// Command feed renders articles and counts their words. releases_test.go builds it with changes.
package main

import (
	"bytes"
	"compress/flate"
	"fmt"
	"html"
	"log"
	"net/http"
	"regexp"
	"sort"
	"strings"
	"text/template"
	"unicode"

	"github.com/profguard/profguard/internal/integration/releases/load"
)

// An article is shown on a page.
type article struct {
	Title, Slug, Text string
	Score             int
}

var articles = func() (list []article) {
	words := strings.Fields("the quick brown fox jumps over a lazy dog while https://example.com/path/1 serves <b>pages</b> to @readers")
	for i := range 8 {
		var text []string
		for j := range 60 {
			text = append(text, words[(i*7+j*j)%len(words)])
		}
		list = append(list, article{Title: fmt.Sprintf("Article %d: The Quick & The Slow", i), Text: strings.Join(text, " ")})
	}
	return list
}()

var (
	mention = regexp.MustCompile(`@[a-z]+|https?://[a-z./0-9]+`)
	page    = template.Must(template.New("page").Parse(`{{range .}}<h2 id="{{.Slug}}">{{.Title}}</h2><p>{{.Text}}</p>{{if gt .Score 10}}<i>{{.Score}}</i>{{end}}{{end}}`))
)

func slug(title string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(title) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
			dash = false
		} else if !dash {
			b.WriteByte('-')
			dash = true
		}
	}
	return b.String()
}

func score(text string) (n int) {
	for range 4 {
		for i := range len(text) {
			n = n*31 + int(text[i])
		}
	}
	return n & 31
}

func links(text string) string {
	return mention.ReplaceAllStringFunc(html.EscapeString(text), func(m string) string { return "<a>" + m + "</a>" })
}

func render(w http.ResponseWriter, r *http.Request) {
	list := make([]article, len(articles))
	for i, a := range articles {
		a.Slug, a.Score = slug(a.Title), score(a.Text)
		a.Text = links(a.Text)
		list[i] = a
	}
	if err := page.Execute(w, list); err != nil {
		log.Print(err)
	}
}

func count(text string) map[string]int {
	n := map[string]int{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		n[word]++
	}
	return n
}

func pack(b []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, 1)
	if err != nil {
		return b
	}
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func top(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	for _, a := range articles {
		n := count(a.Text)
		words := make([]string, 0, len(n))
		for word := range n {
			words = append(words, word)
		}
		sort.Slice(words, func(i, j int) bool {
			return n[words[i]] > n[words[j]] || n[words[i]] == n[words[j]] && words[i] < words[j]
		})
		for _, word := range words {
			fmt.Fprintf(&b, "%s %d\n", word, n[word])
		}
	}
	w.Write(pack(b.Bytes()))
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", render)
	mux.HandleFunc("/top", top)
	load.Run("/", "/top", mux)
}
