package process

import (
	"errors"
	"fmt"
	"maps"
	"testing"
)

func TestNear(t *testing.T) {
	functions := []string{
		"regexp.compile", "regexp.Compile", "regexp.(*Regexp).MatchString", "encoding/json.Unmarshal", "encoding/json.(*decodeState).object",
		"example.com/orders/chk.checkout", "example.com/orders/chk.checkout.func1", "example.com/orders/chk.audit.func2", "example.com/orders/chk.Map[go.shape.int]",
		"tailscale.com/portlist.(*Poller).Poll", "fmt.Println", "crypto/sha1.block", "main.main", "main.init.0", "github.com/labstack/echo/v4.New", "type:.eq.main.T", "go",
	}
	for text, want := range map[string]string{
		"regex.compile":               "regexp.compile",
		"regex.Compile":               "regexp.Compile",
		"regexp.Compil":               "regexp.Compile",
		"Regexp.compile":              "",
		"encoding/json.Unmarshall":    "encoding/json.Unmarshal",
		"encoding/json.unmarshal":     "",
		"json.Unmarshl":               "encoding/json.Unmarshal",
		"encoding/jsn":                "encoding/json",
		"chk.checkuot":                "example.com/orders/chk.checkout",
		"chk.map":                     "",
		"chk.audti":                   "example.com/orders/chk.audit", // which has literals only
		"chk.audited":                 "",
		"(*Regexp).MatchStrng":        "regexp.(*Regexp).MatchString",
		"regexp.Regexp.MatchStrng":    "regexp.(*Regexp).MatchString",
		"portlst":                     "tailscale.com/portlist",
		"tailscale.com/portlists":     "tailscale.com/portlist",
		"unmarshal":                   "",
		"crypto/tls":                  "", // near to nothing
		"github.com/labstack/echo":    "github.com/labstack/echo/v4",
		"github.com/labstack/ecoh":    "github.com/labstack/echo/v4",
		"labstack/echo":               "github.com/labstack/echo/v4",
		"crypto/sha256.Sum256":        "",
		"crypto/sha3":                 "", // another one, and no misspelling of sha1
		"crypto/sah1":                 "crypto/sha1",
		"fmt.Tprintln":                "", // another one, as Fprint and Sprint are two
		"fmt.Pirntln":                 "fmt.Println",
		"fmx":                         "", // short
		"/regex.*/":                   "",
		"example.com/svc.main":        "main.main",
		"example.com/other.main":      "",
		"encoding/jsn/...":            "",
		"example.org/other/chk.price": "",
	} {
		got, err := near([]string{text}, "example.com/svc", func(yield func(string) bool) error {
			for _, f := range functions {
				yield(f)
			}
			return nil
		})
		if err != nil || got[text] != want {
			t.Errorf("%s: %q, %v, want %q", text, got[text], err, want)
		}
	}
	// However many texts there are, each is looked for.
	texts := []string{"process.TestNaer", "portlist"}
	for i := range 1000 {
		texts = append(texts, fmt.Sprintf("absent%d.Thing", i))
	}
	got, err := near(texts, "", Functions)
	if err != nil {
		t.Fatal(err)
	}
	if want := "github.com/profguard/profguard/internal/process.TestNear"; got["process.TestNaer"] != want || len(got) != 1 {
		t.Errorf("%v, want only %s", got, want)
	}
}

// What matches something is not missing, and without a table nothing is known.
func TestMissing(t *testing.T) {
	got, err := Missing([]string{"process.TestMissing", "process.TestMissin", "portlist", "fmt"}, "", Functions)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"process.TestMissin": "github.com/profguard/profguard/internal/process.TestMissing", "portlist": ""}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	unreadable := errors.New("no executable")
	if got, err := Missing([]string{"fmt"}, "", func(func(string) bool) error { return unreadable }); got != nil || err != unreadable {
		t.Errorf("%v, %v: want nothing to be known", got, err)
	}
}
