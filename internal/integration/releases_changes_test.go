package integration

// A program of the folder releases, and what its releases change.
type program struct {
	name    string
	first   string // the handler of half of the requests, which gets dearer
	changes []change
}

// A change is what a release does to a program.
type change struct {
	name    string
	edit    []string          // old and new texts of main.go
	files   map[string]string // further files, by their path in the folder
	env     []string          // of go build
	pgo     bool              // with the profile of the build before
	flags   []string          // of the program
	points  float64           // by which the cost of a request changes, as part
	want    string            // the function that is to be named first, "" for none
	perUnit bool              // not judged without a unit of work
}

// common are the changes of each program.
var common = []change{
	{name: "equal"},
	{name: "inlined by PGO", pgo: true},
	{name: "Go 1.26 to 1.27", env: []string{"GOTOOLCHAIN=go1.27.4"}},
	{name: "5 points dearer", points: 0.05, want: "main.burn"},
	{name: "10 points dearer", points: 0.1, want: "main.burn"},
	{name: "30 points dearer", points: 0.3, want: "main.burn"},
}

// burning is a function that takes so many steps of about a nanosecond.
const burning = `
//go:noinline
func burn(n int) (x int) {
	for i := range n {
		x += i ^ x>>1
	}
	return x
}
`

// loading is the import that stands last in each program.
const loading = "\t\"github.com/profguard/profguard/internal/integration/releases/load\"\n"

// imported is that with a package of the program.
func imported(path string) string {
	return loading + "\t\"github.com/profguard/profguard/internal/integration/releases/" + path + "\"\n"
}

var releasePrograms = []program{
	{"shop", "checkout", []change{
		{name: "a function is renamed", edit: []string{"valid(", "isAllowed(", "// valid reports", "// isAllowed reports"}},
		{name: "it moves to another package", edit: []string{
			"!valid(", "!check.Valid(", "if valid(", "if check.Valid(", "func valid(", "func unused(", "func sum(", "var _ = unused\n\nfunc sum(",
			loading, imported("shop/check"),
		}, files: map[string]string{"check/check.go": `// Package check checks names.
package check

import "strings"

// Valid reports whether a name is allowed.
func Valid(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) {
			return false
		}
	}
	return !strings.Contains(name, "forbidden")
}
`}},
		{name: "it is split", edit: []string{
			"func valid(name string) bool {\n", `func valid(name string) bool { return letters(name) && words(name) }

//go:noinline
func words(name string) bool { return !strings.Contains(name, "forbidden") }

//go:noinline
func letters(name string) bool {
`,
			"\treturn !strings.Contains(name, \"forbidden\")\n}\n\nfunc sum", "\treturn true\n}\n\nfunc sum",
		}},
		{name: "it is merged into its caller", edit: []string{
			"\to.ID = sum(o.Items)\n", `	total := 0
	for range 40 {
		for i := range o.Items {
			total += o.Items[i].Price*o.Items[i].Count ^ total>>3
		}
	}
	o.ID = total
`,
			"func sum(", "var _ = sum\n\nfunc sum(",
		}},
		{name: "a closure around it", edit: []string{"\treply, err := json.Marshal(o)\n", `	var reply []byte
	var err error
	func() {
		defer func() { _ = recover() }()
		reply, err = json.Marshal(o)
	}()
`}},
		{name: "it becomes generic", edit: []string{"func sum(items []item) (total int) {", "func sum[T ~[]item](items T) (total int) {"}},
		{name: "a literal above it", edit: []string{"\tsort.Slice(found", "\tsort.SliceStable(found[:1], func(i, j int) bool { return false })\n\tsort.Slice(found"}},
		{name: "a handler becomes a method", edit: []string{
			"func search(w", "type server struct{}\n\nfunc (*server) search(w", "mux.HandleFunc(\"/search\", search)", "mux.HandleFunc(\"/search\", new(server).search)",
		}},
		{name: "equal"},
		{name: "ten times the load", flags: []string{"-rate", "20000"}, perUnit: true},
		{name: "another mix of handlers", flags: []string{"-mix", "0.7"}},
		{name: "half as many digests", edit: []string{"for range 4 {", "for range 2 {"}},
		{name: "no digest", edit: []string{"fmt.Fprintln(w, digest(r.URL.Path))", "fmt.Fprintln(w, r.URL.Path); _ = digest"}},
		{name: "an expression compiled in each search", edit: []string{
			"found := make", "word := regexp.MustCompile(\"^thing-[0-9]+$\")\n\t_ = word\n\tfound := make", "\t\"sort\"\n", "\t\"regexp\"\n\t\"sort\"\n",
		}, want: "regexp.MustCompile"},
	}},

	{"ledger", "book", []change{
		{name: "a function is renamed", edit: []string{"interest(", "grown("}},
		{name: "it moves to another package", edit: []string{
			"err := parse(line)", "err := statement.Parse(line)", "type entry struct {\n\tAccount string\n\tCents   int64\n\tKind    byte\n}", "type entry = statement.Entry",
			"var statement = func", "var lines = func", "range statement {", "range lines {", "func parse(", "func unused(", "func fee(", "var _ = unused\n\nfunc fee(",
			loading, imported("ledger/statement"),
		}, files: map[string]string{"statement/statement.go": `// Package statement reads statements.
package statement

import (
	"errors"
	"strconv"
	"strings"
)

// An Entry is a payment.
type Entry struct {
	Account string
	Cents   int64
	Kind    byte
}

// Parse reads a line.
func Parse(line string) (e Entry, err error) {
	account, rest, ok := strings.Cut(line, ";")
	amount, kind, more := strings.Cut(rest, ";")
	if !ok || !more || len(kind) != 1 {
		return e, errors.New("expected account;amount;kind")
	}
	whole, part, _ := strings.Cut(amount, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return e, err
	}
	cents, err := strconv.ParseInt(part, 10, 64)
	return Entry{account, 100*n + cents, kind[0]}, err
}
`}},
		{name: "it is split", edit: []string{
			"\twhole, part, _ := strings.Cut(amount, \".\")\n", `	cents, err := inCents(amount)
	return entry{account, cents, kind[0]}, err
}

//go:noinline
func inCents(amount string) (int64, error) {
	whole, part, _ := strings.Cut(amount, ".")
`,
			"\t\treturn e, err\n\t}\n\tcents, err :=", "\t\treturn 0, err\n\t}\n\tcents, err :=",
			"\treturn entry{account, 100*n + cents, kind[0]}, err\n", "\treturn 100*n + cents, err\n",
		}},
		{name: "it is merged into its caller", edit: []string{
			"\tr := record{Cents: e.Cents, Fee: fee(e.Cents, e.Kind)}\n", `	total := int64(0)
	for i := range int64(60) {
		total += (e.Cents*(i+3) ^ int64(e.Kind)) % 97
	}
	r := record{Cents: e.Cents, Fee: total / 60}
`,
			"func store(", "var _ = fee\n\nfunc store(",
		}},
		{name: "a closure around it", edit: []string{"\tbinary.Write(b, binary.LittleEndian, &r)\n", `	func() {
		defer func() { _ = recover() }()
		binary.Write(b, binary.LittleEndian, &r)
	}()
`}},
		{name: "it becomes generic", edit: []string{"func largest(accounts []string) []string {", "func largest[T ~[]string](accounts T) T {"}},
		{name: "a literal above it", edit: []string{"\tslices.SortFunc(accounts", "\tslices.SortStableFunc(accounts[:min(1, len(accounts))], func(a, b string) int { return 0 })\n\tslices.SortFunc(accounts"}},
		{name: "a handler becomes a method", edit: []string{
			"func book(w", "type server struct{}\n\nfunc (*server) book(w", "mux.HandleFunc(\"/book\", book)", "mux.HandleFunc(\"/book\", new(server).book)",
		}},
		{name: "half as much interest", edit: []string{"for range 3 {", "for range 1 {"}},
		{name: "records are formatted, too", edit: []string{
			"\tr.Sum = ", "\tif fmt.Sprintf(\"%v %v\", e, r) == \"\" {\n\t\treturn\n\t}\n\tr.Sum = ",
		}, want: "fmt.Sprintf"},
	}},

	{"feed", "render", []change{
		{name: "a function is renamed", edit: []string{"links(", "linked("}},
		{name: "it moves to another package", edit: []string{
			"= slug(a.Title)", "= text.Slug(a.Title)", "func slug(", "func unused(", "func score(", "var _ = unused\n\nfunc score(",
			loading, imported("feed/text"),
		}, files: map[string]string{"text/text.go": `// Package text makes names of titles.
package text

import (
	"strings"
	"unicode"
)

// Slug is the name of a title.
func Slug(title string) string {
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
`}},
		{name: "it is split", edit: []string{
			"\tn := map[string]int{}\n", `	return tally(words(text))
}

//go:noinline
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
}

//go:noinline
func tally(words []string) map[string]int {
	n := map[string]int{}
`,
			"range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {", "range words {",
		}},
		{name: "it is merged into its caller", edit: []string{
			"\tw.Write(pack(b.Bytes()))\n", `	var out bytes.Buffer
	if f, err := flate.NewWriter(&out, 1); err == nil {
		f.Write(b.Bytes())
		f.Close()
	}
	w.Write(out.Bytes())
`,
			"func top(", "var _ = pack\n\nfunc top(",
		}},
		{name: "a closure around it", edit: []string{"\tif err := page.Execute(w, list); err != nil {\n", `	if err := func() error {
		defer func() { _ = recover() }()
		return page.Execute(w, list)
	}(); err != nil {
`}},
		{name: "it becomes generic", edit: []string{"func count(text string) map[string]int {", "func count[T ~string](t T) map[string]int {\n\ttext := string(t)"}},
		{name: "a literal above it", edit: []string{"\t\tsort.Slice(words", "\t\tsort.SliceStable(words[:1], func(i, j int) bool { return false })\n\t\tsort.Slice(words"}},
		{name: "a handler becomes a method", edit: []string{
			"func render(w", "type server struct{}\n\nfunc (*server) render(w", "mux.HandleFunc(\"/\", render)", "mux.HandleFunc(\"/\", new(server).render)",
		}},
		{name: "packed faster", edit: []string{"flate.NewWriter(&out, 1)", "flate.NewWriter(&out, -2)"}},
		{name: "an expression compiled for each article", edit: []string{
			"return mention.Replace", "return regexp.MustCompile(mention.String()).Replace",
		}, want: "regexp.MustCompile"},
	}},
}
