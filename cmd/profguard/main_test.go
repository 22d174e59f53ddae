package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/golden"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/service"
	"github.com/profguard/profguard/internal/unit"
)

// The profiles of the tests, as folded stacks.
var files = map[string]string{
	"shop.pprof": `cpu 10s
main.main;main.serve;example.com/shop.checkout@example.com/shop/checkout.go:39;encoding/json.Unmarshal@json/decode.go:97 120
main.main;main.serve;example.com/shop.checkout@example.com/shop/checkout.go:41;sort.Slice@sort/slice.go:26 110
main.main;main.serve;example.com/shop.list@example.com/shop/list.go:12 90
main.main;main.serve;example.com/shop.find@example.com/shop/find.go:7 80
main.main;main.serve;example.com/shop.cart@example.com/shop/cart.go:33 70
main.main;main.serve;example.com/shop.pay@example.com/shop/pay.go:21 60
`,
	"planted.pprof": `cpu 10s
main.main;main.serve;example.com/shop.checkout@example.com/shop/checkout.go:39;encoding/json.Unmarshal@json/decode.go:97 120
main.main;main.serve;example.com/shop.checkout@example.com/shop/checkout.go:40;regexp.MustCompile@regexp/regexp.go:313;regexp.compile@regexp/regexp.go:168 400
main.main;main.serve;example.com/shop.list@example.com/shop/list.go:12 90
main.main;main.serve;example.com/shop.find@example.com/shop/find.go:7 80
`,
	"before.pprof": `cpu 100s
main.main;main.serve;example.com/shop.checkout@example.com/shop/checkout.go:39;encoding/json.Unmarshal@json/decode.go:97 1200
main.main;main.serve;example.com/shop.checkout@example.com/shop/checkout.go:41;sort.Slice@sort/slice.go:26 1100
main.main;main.serve;example.com/shop.list@example.com/shop/list.go:12 900
main.main;main.serve;example.com/shop.find@example.com/shop/find.go:7 800
main.main;main.serve;example.com/shop.cart@example.com/shop/cart.go:33 700
main.main;main.serve;example.com/shop.pay@example.com/shop/pay.go:21 600
`,
	"after.pprof": `cpu 100s
main.main;main.serve;example.com/shop.checkout@example.com/shop/checkout.go:39;encoding/json.Unmarshal@json/decode.go:97 1210
main.main;main.serve;example.com/shop.checkout@example.com/shop/checkout.go:40;regexp.MustCompile@regexp/regexp.go:313;regexp.compile@regexp/regexp.go:168 1500
main.main;main.serve;example.com/shop.checkout@example.com/shop/checkout.go:42;sort.Slice@sort/slice.go:26 1090
main.main;main.serve;example.com/shop.catalog@example.com/shop/list.go:12 890
main.main;main.serve;example.com/shop.find@example.com/shop/find.go:7 310
main.main;main.serve;example.com/shop.cart@example.com/shop/cart.go:33 690
main.main;main.serve;example.com/shop.pay@example.com/shop/pay.go:21 610
`,
	"notes.pprof": `cpu 10s
net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*server).debugState@example.com/shop/debug.go:10;example.com/shop/notes.(*Store).Get@example.com/shop/notes/store.go:33;encoding/json.Unmarshal@json/decode.go:97 266
net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*server).get@example.com/shop/get.go:5;example.com/shop/notes.(*Store).Get@example.com/shop/notes/store.go:33;encoding/json.Unmarshal@json/decode.go:97 8
net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*server).list@example.com/shop/list.go:12;example.com/shop/notes.(*Store).Get@example.com/shop/notes/store.go:33;encoding/json.Unmarshal@json/decode.go:97 6
net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*server).list@example.com/shop/list.go:14;strings.Contains@strings/strings.go:60 70
runtime.gcBgMarkWorker 60
`,
	"shared.pprof": `cpu 10s
net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*server).debugState@example.com/shop/debug.go:10;example.com/shop/notes.(*Store).Get@example.com/shop/notes/store.go:33;encoding/json.Unmarshal@json/decode.go:97 100
net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*server).get@example.com/shop/get.go:5;example.com/shop/notes.(*Store).Get@example.com/shop/notes/store.go:33;encoding/json.Unmarshal@json/decode.go:97 90
net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*server).list@example.com/shop/list.go:12;example.com/shop/notes.(*Store).Get@example.com/shop/notes/store.go:33;encoding/json.Unmarshal@json/decode.go:97 90
net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;main.(*server).list@example.com/shop/list.go:14;strings.Contains@strings/strings.go:60 70
runtime.gcBgMarkWorker 60
`,
	"few.pprof": `cpu 10s
main.main;main.serve;example.com/shop.checkout@example.com/shop/checkout.go:39;encoding/json.Unmarshal@json/decode.go:97 3
main.main;main.serve;example.com/shop.list@example.com/shop/list.go:12 4
`,
	"small.pprof": `cpu 10s
main.main;main.serve;example.com/shop.list@example.com/shop/list.go:12 60
main.main;main.serve;example.com/shop.find@example.com/shop/find.go:7 40
main.main;main.serve;example.com/shop.pay@example.com/shop/pay.go:21 30
`,
	"garbage.pprof": `cpu 10s
runtime.gcBgMarkWorker 270
main.main;main.serve;example.com/shop.list@example.com/shop/list.go:12 130
main.main;main.serve;example.com/shop.find@example.com/shop/find.go:7 120
main.main;main.serve;example.com/shop.cart@example.com/shop/cart.go:33 120
main.main;main.serve;example.com/shop.pay@example.com/shop/pay.go:21 120
main.main;main.serve;example.com/shop.mail@example.com/shop/mail.go:8 120
main.main;main.serve;example.com/shop.rate@example.com/shop/rate.go:8 120
`,
	"tenants.pprof": `cpu 10s
main.main;main.serve;example.com/shop.report@example.com/shop/report.go:39;encoding/json.Marshal@json/encode.go:160 330 {tenant=acme}
main.main;main.serve;example.com/shop.list@example.com/shop/list.go:12 130 {tenant=acme}
main.main;main.serve;example.com/shop.list@example.com/shop/list.go:12 120 {tenant=blue}
main.main;main.serve;example.com/shop.find@example.com/shop/find.go:7 140 {tenant=green}
main.main;main.serve;example.com/shop.find@example.com/shop/find.go:7 140 {tenant=red}
main.main;main.mail 140
`,
	"idle.pprof": "cpu 10s\n",
	"mutex.pprof": `mutex 10s
main.main;main.serve;example.com/shop.lock@example.com/shop/lock.go:9;sync.(*Mutex).Unlock@sync/mutex.go:64 400 2s
`,
	"allocs.pprof": `allocs
main.main;main.serve;example.com/shop.list@example.com/shop/list.go:12 6000 600000000
`,
	"heap.pprof": `heap
main.main;main.serve;example.com/shop.cache@example.com/shop/cache.go:5 4000 400000000
main.main;main.serve;example.com/shop.list@example.com/shop/list.go:12 6000 600000000
`,
	"difference.pprof": "cpu 10s\nmain.main;main.serve 100\nmain.main;main.mail -140\n",
	"later-heap.pprof": `heap
main.main;main.serve;example.com/shop.cache@example.com/shop/cache.go:5 4000 450000000
`,
}

// Profiles of the same build, taken a little later.
func init() {
	files["later.pprof"] = strings.Replace(files["before.pprof"], " 1200\n", " 1201\n", 1)
	files["later-tenants.pprof"] = strings.Replace(files["tenants.pprof"], " 330 {", " 331 {", 1)
}

// write puts the files of the tests into the working directory.
func write(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		var b bytes.Buffer
		p := folded.Must(text)
		if name == "allocs.pprof" {
			p.DefaultSampleType = "alloc_space" // as the runtime does
		}
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		put(t, name, b.String())
		if long, is := strings.CutSuffix(name, ".pprof"); is && p.PeriodType.Type == "cpu" { // suggest takes 1,000 samples
			p.Scale(10)
			p.DurationNanos *= 10
			b.Reset()
			if err := p.Write(&b); err != nil {
				t.Fatal(err)
			}
			put(t, long+"10.pprof", b.String())
		}
	}
	put(t, "budgets.txt", "no function above 20% cumulative\ncompiling: regexp.compile below 5% # once is enough\n")
	put(t, "service.txt", "no function above 50% cumulative\nprocess below 2ms per request\ngoroutines steady\nrss below 1GiB\ngc below 90%\nno function grows above 5 points\n")
	put(t, "wrong.txt", "no function above 20 cumulative\n")
	put(t, "go.mod", "module example.com/shop\n")
	put(t, "checkout.go", "package shop\n")
	put(t, "page.html", "<!DOCTYPE html><title>shop</title>")
	put(t, "empty", "")
	put(t, "token", "letmein\n")
	put(t, "my shop.pprof", "")
}

// writeLarge writes what is larger than a profile may be.
func writeLarge(t *testing.T) {
	t.Helper()
	put(t, "large", strings.Repeat("x", 8<<20+1))
	var bomb bytes.Buffer
	z, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for range 64 {
		if _, err := z.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, "bomb", bomb.String())
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// answering is a service that answers as services do.
func answering(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, r *http.Request) {
		switch r.FormValue("seconds") {
		case "10", "1", "11":
			http.ServeFile(w, r, "shop.pprof")
		default:
			http.Error(w, "profile duration exceeds server's WriteTimeout", http.StatusBadRequest)
		}
	})
	mux.HandleFunc("/busy/profile", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Could not enable CPU profiling: cpu profiling already in use", http.StatusInternalServerError)
	})
	mux.HandleFunc("/idle/profile", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "few.pprof") })
	mux.HandleFunc("/guarded/profile", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer letmein" {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		http.ServeFile(w, r, "shop.pprof")
	})
	mux.HandleFunc("/other/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes 3e+07\n")
	})
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html>hello</html>")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// commands are what the golden file shows. URL stands for the service; with "<" a
// file is standard input.
var commands = []string{
	"",
	"help",
	"guard",
	"check -h",
	"suggest -h",
	"compare -h",
	"probe -h",
	"rollout -h",
	"vet -h",
	"vet -o xml",

	"check -b budgets.txt shop.pprof",
	"check -b budgets.txt planted.pprof",
	"check -b budgets.txt few.pprof",
	"check few.pprof -b budgets.txt shop.pprof few.pprof",
	"check -b budgets.txt - < shop.pprof",
	"check -budget|portlist absent|my shop.pprof",
	"check -budget|no function above 20% cumulative|-budget|portlist absent|URL",
	"check -budget|no function above 20% cumulative|-seconds|1|URL",
	"check -b service.txt URL",
	"check -b service.txt -metrics URL/other/metrics URL",
	"check -budget|example.com/shop.lock below 1 core of mutex|-kind|mutex|mutex.pprof",
	"check -budget|example.com/shop.lock below 1 core of mutex|mutex.pprof",
	"check -o json -b budgets.txt planted.pprof",
	"check -o markdown -b budgets.txt planted.pprof",
	"check -o github -b budgets.txt planted.pprof",
	"check -o junit -b budgets.txt planted.pprof",
	"check -o github -b service.txt URL",
	"check -budget|process below 2ms per request|-work|request=4000|shop.pprof",
	`check -budget|process below 2ms per requests_total{code="200"}|-work|requests_total{code="200"}=4000|shop.pprof`,
	"check -budget|heap below 64MiB|-figure|heap=1e8|shop.pprof",
	"check -budget|no function grows above 5 points|-base|shop.pprof|planted.pprof",
	"check -budget|process grows below 10% per request|-base|shop.pprof|-base-work|request=4000|-work|request=4000|planted.pprof",

	"check -budget|no function above 30%|notes.pprof",
	"check -budget|no function above 30%|shared.pprof",
	"check -o|markdown|-budget|no function above 30%|notes.pprof",
	"check -budget|no function above 30% except encoding/json.Unmarshal from main.(*server).debugState|notes.pprof",
	"check -budget|no function above 30% except encoding/json.Unmarshal from main.(*server).debugState|shared.pprof",

	"check -budget|no tenant above 30%|tenants.pprof",
	"check -o|markdown|-budget|no tenant above 30%|tenants.pprof",
	"check -o|github|-budget|no tenant above 30%|tenants.pprof",
	"check -o|json|-budget|no tenant above 30%|tenants.pprof",
	"check -base|tenants.pprof|-budget|no tenant grows above 5 points|tenants10.pprof",
	"check -base|shop.pprof|-budget|no tenant grows above 5 points|tenants.pprof",
	"diff -budget|no tenant grows above 5 points except acme|tenants.pprof|later-tenants.pprof",
	"check -budget|no tenant above 30% except acme|-budget|no endpoint above 30%|tenants.pprof",

	"diff -h",
	"diff before.pprof|after.pprof|-base-work|request=40000|-work|request=40000",
	"diff after.pprof|before.pprof|-base-work|request=40000|-work|request=40000",
	"diff -o|markdown|before.pprof|after.pprof|-base-work|request=40000|-work|request=40000",
	"diff -o|junit|before.pprof|after.pprof|-base-work|request=40000|-work|request=40000",
	"diff -o|github|before.pprof|after.pprof|-base-work|request=40000|-work|request=40000",
	"diff -o|json|before.pprof|after.pprof|-base-work|request=40000|-work|request=40000",
	"diff before.pprof after.pprof",
	"diff shop.pprof planted.pprof",
	"diff -o|markdown|shop.pprof|planted.pprof",
	"diff -o|junit|shop.pprof|planted.pprof",
	"diff before.pprof|later.pprof|-base-work|request=40000|-work|request=40000|-budget|process grows below 30% per request",
	"diff before.pprof|before.pprof",
	"check -base|before.pprof|-budget|no function grows above 5 points|before.pprof",
	"diff before.pprof|after.pprof|-base-work|request=40000|-work|request=40000|-budget|process grows below 30% per request",
	"diff before.pprof|after.pprof|-budget|no function grows above 3 points when process above 100 cores|-budget|no function grows above 4 points when goroutines above 9|-budget|no function grows above 5 points when process above 0.1 cores",
	"diff shop.pprof",
	"diff shop.pprof none.pprof",
	"diff shop.pprof allocs.pprof",
	"diff -per row shop.pprof planted.pprof",
	"diff -o yaml shop.pprof planted.pprof",
	"diff -b budgets.txt shop.pprof planted.pprof",

	"check shop.pprof",
	"check -b budgets.txt",
	"check -b none.txt shop.pprof",
	"check -b wrong.txt shop.pprof",
	"check -b empty shop.pprof",
	"check -x shop.pprof",
	"check -o yaml -b budgets.txt shop.pprof",
	"check -work requests -b budgets.txt shop.pprof",
	"check -figure load=1 -b budgets.txt shop.pprof",
	"check -kind cup -b budgets.txt shop.pprof",
	"check -budget|process below 2ms per request|shop.pprof",
	"check -budget|process below 2ms per request|-work|requests=4000|shop.pprof",
	"check -budget|process grows below 10% per request|-base|shop.pprof|-work|request=4000|planted.pprof",
	"check -figure gc=5% -b budgets.txt shop.pprof",
	"check -budget|encodng/json below 5% in main.srve when goroutines above 100|few.pprof",
	"check -figure gc=5 -b budgets.txt shop.pprof",
	"check -work request=-1 -b budgets.txt shop.pprof",
	"check -budget|no function grows above 5 points|shop.pprof",
	"check -budget|goroutines steady|shop.pprof",
	"check -budget|heap below 64MiB|-budget|example.com/shop.serve below 50% when rss above 1GiB|shop.pprof",
	"check -budget|encodng/json below 5%|shop.pprof",
	"check -budget|encodng/json below 5%|few.pprof",
	"check -budget|encodng/json absent|shop.pprof",
	`check -budget|"encodng/json" absent|shop.pprof`,
	"check -budget|encodng/json below 5% in main.srve|few.pprof",
	"check -budget|encoding/json below 5% in main.srve|shop.pprof",
	"check -budget|encoding/json below 5% in main.serve|shop.pprof",
	"check -budget|no function above 20% except encodng/json|planted.pprof",
	"check -budget|encoding/xml absent|-budget|portlist below 5%|shop.pprof",
	"check -b budgets.txt none.pprof",
	"check -b budgets.txt localhost:6060",
	"check -b budgets.txt empty",
	"check -b budgets.txt page.html",
	"check -b budgets.txt large",
	"check -b budgets.txt bomb",
	"check -b budgets.txt difference.pprof",
	"check -b budgets.txt shop.pprof heap.pprof",
	"check -budget|example.com/shop.cache below 500MB of heap|heap.pprof|later-heap.pprof",
	"check -budget|example.com/shop.cache below 500MB of heap|later-heap.pprof",
	"check -b budgets.txt - - < shop.pprof",
	"check -b budgets.txt -seconds 0 URL",
	"check -b budgets.txt -seconds 90 URL",
	"check -b budgets.txt URL/busy/profile",
	"check -b budgets.txt URL/guarded/profile",
	"check -b budgets.txt -authorization token URL/guarded/profile",
	"suggest -authorization empty URL/guarded/profile",
	"diff -authorization|Bearer letmein|shop.pprof|URL/guarded/profile",
	"check -b budgets.txt URL/page",
	"check -b budgets.txt URL/nothing",
	"check -b budgets.txt ftp://shop/profile",

	"suggest shop10.pprof",
	"suggest -module example.com/shop planted10.pprof",
	"suggest notes10.pprof",
	"suggest shared10.pprof",
	"suggest few.pprof",
	"suggest URL/idle/profile",
	"suggest small10.pprof",
	"suggest -seconds 1 URL",
	"suggest heap.pprof",
	"suggest allocs.pprof",
	"suggest -kind mutex mutex.pprof",
	"suggest garbage10.pprof",
	"suggest tenants10.pprof",
	"suggest idle.pprof",
}

// split returns the arguments of a command: parted by "|" where they have blanks.
func split(command string) (args []string, stdin string) {
	command, stdin, _ = strings.Cut(command, " < ")
	if !strings.Contains(command, "|") {
		return strings.Fields(command), stdin
	}
	first, rest, _ := strings.Cut(command, " ")
	return append([]string{first}, strings.Split(rest, "|")...), stdin
}

func shell(args []string) string {
	var quoted []string
	for _, a := range args {
		if strings.ContainsAny(a, " %") {
			a = "'" + a + "'"
		}
		quoted = append(quoted, a)
	}
	return strings.Join(quoted, " ")
}

// TestCommands holds what each command writes against the golden file.
func TestCommands(t *testing.T) {
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	write(t)
	writeLarge(t)
	server := answering(t)
	var text strings.Builder
	for _, command := range commands {
		args, input := split(command)
		fmt.Fprintf(&text, "$ profguard %s", shell(args))
		if input != "" {
			fmt.Fprintf(&text, " < %s", input)
		}
		for i := range args {
			args[i] = strings.Replace(args[i], "URL", server.URL, 1)
		}
		var stdin, stdout, stderr bytes.Buffer
		if input != "" {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			stdin.Write(data)
		}
		status := run(t.Context(), args, &stdin, &stdout, &stderr)
		said := strings.ReplaceAll(stdout.String()+stderr.String(), server.URL, "URL")
		fmt.Fprintf(&text, "\n%s(%d)\n\n", said, status)
	}
	t.Chdir(home)
	golden.Compare(t, "commands.txt", text.String())
}

// TestCommandsHaveAllFlags: the golden file shows each flag at work.
func TestCommandsHaveAllFlags(t *testing.T) {
	all := strings.Join(commands, "\n")
	for _, name := range []string{"check", "suggest"} {
		var help bytes.Buffer
		run(t.Context(), []string{name, "-h"}, nil, &help, &help)
		for line := range strings.Lines(help.String()) {
			if flag, ok := strings.CutPrefix(line, "  -"); ok {
				flag, _, _ = strings.Cut(strings.TrimSpace(flag), " ")
				if !strings.Contains(all, "-"+flag+" ") && !strings.Contains(all, "-"+flag+"|") {
					t.Errorf("no command of the test has -%s", flag)
				}
			}
		}
	}
}

// TestSuggestedIsJudged: what is suggested passes on the profile, and fails on one with
// a planted mistake.
func TestSuggestedIsJudged(t *testing.T) {
	write(t)
	var suggested, said bytes.Buffer
	if status := run(t.Context(), []string{"suggest", "shop10.pprof"}, nil, &suggested, &said); status != exitKept {
		t.Fatalf("suggest: %d, %s", status, said.String())
	}
	put(t, "suggested.txt", suggested.String())
	for name, want := range map[string]int{"shop.pprof": exitKept, "planted.pprof": exitBroken} {
		var out bytes.Buffer
		if status := run(t.Context(), []string{"check", "-b", "suggested.txt", name}, nil, &out, &out); status != want {
			t.Errorf("%s: expected %d, found %d\n%s\n%s", name, want, status, suggested.String(), out.String())
		}
	}
}

// TestSuggestRefusesFaults: a mistake that the profile shows is accepted by no budget that
// is suggested for it, and whoever writes them into a file is told.
func TestSuggestRefusesFaults(t *testing.T) {
	write(t)
	var suggested, said bytes.Buffer
	if status := run(t.Context(), []string{"suggest", "planted10.pprof"}, nil, &suggested, &said); status != exitKept {
		t.Fatalf("suggest: %d, %s", status, said.String())
	}
	if !strings.Contains(said.String(), "LOOK: regexp.compile had 58.0%, its limit is 5%") {
		t.Errorf("nothing is said where it is seen: %q", said.String())
	}
	put(t, "suggested.txt", suggested.String())
	for line := range strings.Lines(suggested.String()) {
		if _, except, ok := strings.Cut(line, "except"); ok && !strings.HasPrefix(line, "#") && strings.Contains(except, "regexp") {
			t.Errorf("it is accepted: %s", line)
		}
	}
	var out bytes.Buffer
	if status := run(t.Context(), []string{"check", "-b", "suggested.txt", "planted.pprof"}, nil, &out, &out); status != exitBroken || !strings.Contains(out.String(), "1. regexp.MustCompile ") {
		t.Errorf("expected %d with regexp.compile, found %d\n%s\n%s", exitBroken, status, suggested.String(), out.String())
	}
}

// TestMisspelt: a name that the profile does not have is no pass where it has one that is
// a letter away, however many budgets there are.
func TestMisspelt(t *testing.T) {
	write(t)
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, "encodng/json below %d%%\nportlist%c%c absent\n", i+1, 'a'+i/26, 'a'+i%26)
	}
	put(t, "many.txt", many.String())
	put(t, "ends.txt", "encodng/json absent\n"+strings.Join(numbered("b.nothing", 40), "\n"))
	for _, tt := range []struct {
		args []string
		want int
		said string
	}{
		{[]string{"-budget", "encodng/json below 5%"}, exitUndecided, `did you mean encoding/json? If encodng/json is right, write it in double quotes: "encodng/json"`},
		{[]string{"-budget", "encodng/json absent"}, exitUndecided, "did you mean encoding/json?"},
		{[]string{"-budget", "json.Unmarshall below 90%"}, exitUndecided, "did you mean encoding/json.Unmarshal?"},
		{[]string{"-budget", `"encodng/json" below 5%`}, exitKept, "no function of this profile matches"},
		{[]string{"-budget", "encoding/xml absent"}, exitKept, "none of 530 samples, so its share is below 0.56%\n\n"},
		{[]string{"-budget", "os.ReedFile absent"}, exitKept, "below 0.56%\n\n"},
		{[]string{"-budget", `"os.ReedFile" absent`}, exitKept, "below 0.56%\n\n"},
		{[]string{"-budget", "portlist below 5%"}, exitKept, "no function of this profile matches portlist"},
		{[]string{"-budget", "encoding/json below 50% in main.srve"}, exitUndecided, "did you mean main.serve?"},
		{[]string{"-budget", "encodng/json grows below 5 points", "-base", "planted.pprof"}, exitUndecided, "did you mean encoding/json?"},
		{[]string{"-budget", "portlist absent in main.srve"}, exitUndecided, "did you mean main.serve?"},
		{[]string{"-b", "many.txt"}, exitUndecided, "40 kept, 0 broken, 40 undecided"},
		{[]string{"-b", "ends.txt"}, exitUndecided, "40 kept, 0 broken, 1 undecided"},
	} {
		var out bytes.Buffer
		if status := run(t.Context(), append([]string{"check", "shop.pprof"}, tt.args...), nil, &out, &out); status != tt.want || !strings.Contains(out.String(), tt.said) {
			t.Errorf("%q: expected %d and %q, found %d\n%s", tt.args, tt.want, tt.said, status, out.String())
		}
	}
}

// numbered are budgets on names that are not there.
func numbered(name string, n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("%s%d absent", name, i))
	}
	return lines
}

// A few samples carry higher limits, which they decide, and it is said how many would carry the usual one. Where
// stacks were cut off no limit is decided, and that is said.
func TestSuggestionOfFew(t *testing.T) {
	for _, tt := range []struct {
		samples, cut  int
		compile, said string
	}{
		{200, 0, "compile: regexp.compile below 15% when", "\n# More samples allow a lower limit: about 1600 like these allow 5%.\ncompile: "},
		{2000, 0, "compile: regexp.compile below 5% when", "\n\n# Expressions are compiled once, not in each request. This profile had 2.0%.\ncompile: "},
		{200, 200, "compile: regexp.compile below 5% when", "\n# Not decided yet: regexp.compile at "},
	} {
		var profile bytes.Buffer
		text := fmt.Sprintf("cpu 10s\nmain.main;main.serve;regexp.compile@regexp/regexp.go:170 %d\n", tt.samples/50)
		for i := range 10 {
			text += fmt.Sprintf("main.main;main.serve;main.part%d %d\n", i, tt.samples*98/1000)
		}
		if tt.cut > 0 {
			text += fmt.Sprintf("%smain.part %d\n", strings.Repeat("main.walk;", 63), tt.cut)
		}
		if err := folded.Must(text).Write(&profile); err != nil {
			t.Fatal(err)
		}
		table, err := new(decode.Decoder).Bytes(profile.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		w := writer{input: &input{Profile: service.Profile{Table: table, Facts: judge.Facts{Kind: kinds.CPU}}}}
		w.suggest()
		if out := w.out.String(); w.failed != nil || !strings.Contains(out, "\n"+tt.compile) || !strings.Contains(out, tt.said) {
			t.Errorf("%d samples, %d cut off: expected %q and %q, found %v\n%s", tt.samples, tt.cut, tt.compile, tt.said, w.failed, out)
		}
		if tt.cut > 0 {
			continue
		}
		set, err := budget.Parse(w.out.String())
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range set {
			findings, _, err := judgeAll(set, []*input{w.input})
			if r := bridge.Result[budget.Result](b, findings[i]); err != nil || r.Verdict != budget.Pass {
				t.Errorf("%d samples do not keep what they suggest: %s, %v", tt.samples, r, err)
			}
		}
	}
}

// TestSuggestionIsTight: of a program of phases the phases are accepted, and not what they call
// until a higher limit does; and the next window's poller is a fault, although this one has none.
func TestSuggestionIsTight(t *testing.T) {
	t.Chdir(t.TempDir())
	const run1 = "main.main;main.run;"
	text := "cpu 20s\n"
	for i := range 8 {
		text += fmt.Sprintf("%smain.load;main.load%d 36\n%[1]smain.load;encoding/csv.(*Reader).Read;strings.f%d 30\n%[1]smain.report;main.report%[2]d 100\n", run1, i, i)
		text += fmt.Sprintf("%smain.rest%d 84\n", run1, i)
	}
	write := func(name, text string) {
		var b bytes.Buffer
		if err := folded.Must(text).Write(&b); err != nil {
			t.Fatal(err)
		}
		put(t, name, b.String())
	}
	write("healthy.pprof", text)
	write("poller.pprof", text+"main.main.func1;path/filepath.Glob;os.(*File).Readdirnames 240\n")
	var suggested, out bytes.Buffer
	if status := run(t.Context(), []string{"suggest", "healthy.pprof"}, nil, &suggested, &out); status != exitKept {
		t.Fatalf("suggest: %d, %s", status, out.String())
	}
	if want := "\ncpu-functions: no function above 20% cumulative except main.report, main.load when"; !strings.Contains(suggested.String(), want) {
		t.Errorf("expected %q, found\n%s", want, suggested.String())
	}
	put(t, "suggested.txt", suggested.String())
	for name, want := range map[string]int{"healthy.pprof": exitKept, "poller.pprof": exitBroken} {
		if status := run(t.Context(), []string{"check", "-b", "suggested.txt", name}, nil, &out, &out); status != want {
			t.Errorf("%s: expected %d, found %d\n%s", name, want, status, out.String())
		}
	}
}

// TestSuggestionLasts: what is suggested for a profile of few samples passes on another of
// the same program, which differs by chance.
func TestSuggestionLasts(t *testing.T) {
	t.Chdir(t.TempDir())
	random := rand.New(rand.NewPCG(1, 2))
	// draw writes a profile of some 1,250 samples of ten functions, the largest with 13%.
	draw := func(name string) {
		text := "cpu 10s\n"
		for i := range 10 {
			hits := 0
			for range 1250 {
				if random.Float64() < 0.07+0.0067*float64(i) {
					hits++
				}
			}
			text += fmt.Sprintf("main.main;main.serve;example.com/shop.part%d@example.com/shop/part.go:7 %d\n", i, hits)
		}
		var b bytes.Buffer
		if err := folded.Must(text).Write(&b); err != nil {
			t.Fatal(err)
		}
		put(t, name, b.String())
	}
	const pairs = 50
	kept := 0
	for range pairs {
		draw("one.pprof")
		draw("another.pprof")
		var suggested, out bytes.Buffer
		if status := run(t.Context(), []string{"suggest", "one.pprof"}, nil, &suggested, &out); status != exitKept {
			t.Fatalf("suggest: %d, %s", status, out.String())
		}
		put(t, "suggested.txt", suggested.String())
		if status := run(t.Context(), []string{"check", "-b", "suggested.txt", "another.pprof"}, nil, &out, &out); status == exitKept {
			kept++
		}
	}
	if kept < pairs*98/100 {
		t.Errorf("of %d suggestions %d pass on another profile, expected 98%%", pairs, kept)
	}
}

// TestBaseIsBounded: a base of many labels takes no more memory than any other profile may.
func TestBaseIsBounded(t *testing.T) {
	write(t)
	p := folded.Must("cpu 10s\nmain.main;main.serve 500\n")
	p.Sample[0].Label = map[string][]string{"tenant": slices.Repeat([]string{"shop"}, 1_000_000)}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	put(t, "labels.pprof", b.String())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out bytes.Buffer
	status := run(t.Context(), []string{"check", "-budget", "no function grows above 5 points", "-base", "labels.pprof", "shop.pprof"}, nil, &out, &out)
	runtime.ReadMemStats(&after)
	if status != exitUndecided || !strings.Contains(out.String(), "example.com/shop.checkout") {
		t.Errorf("expected %d with checkout, found %d\n%s", exitUndecided, status, out.String())
	}
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 96 {
		t.Errorf("it allocates %d MiB: expected what the decoder may take, 64 MiB, and some", n)
	}
}

// Names come from profiles, and may have characters that end lines or move the cursor.
func TestNamesAreVisible(t *testing.T) {
	const name = "main.f\nprocess below 100 cores \x1b[2J"
	f := budget.Frame{Function: name, File: name}
	r := budget.Result{Budget: budget.Must("no function above 20%")[0], Reason: name, Offenders: []budget.Offender{{Frame: f, Blame: f, Callers: []budget.Frame{f}, Callees: []budget.Frame{f}}}}
	var b bytes.Buffer
	for _, format := range outcomeFormats {
		b.Reset()
		if _, err := (&outcome{Profiles: []described{{Source: name}}, Results: []budget.Result{r}}).write(&outputs{&b, []output{{format: format}}}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "process ") || strings.Contains(line, "\x1b") {
				t.Errorf("the report as %s has the line %q", format, line)
			}
		}
	}
	if got := where(&r.Offenders[0], r.Unit); strings.ContainsAny(got, "\n\x1b") || r.Offenders[0].Function != name {
		t.Errorf("%q, of %q", got, r.Offenders[0].Function)
	}
}

// Growth is not judged against a base of another program: nothing of it grows against itself.
func TestFault_86_BaseOfAnotherProgram(t *testing.T) {
	write(t)
	const shop = "cpu 10s\nmain.main;main.serve;main.cart;encoding/json.Marshal 300\nmain.main;main.serve;main.price 300\nmain.main;main.serve;main.stock 400\n"
	save := func(name, file, text string) {
		p := folded.Must(text)
		if file != "" {
			p.Mapping = []*profile.Mapping{{ID: 1, File: file}}
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		put(t, name, b.String())
	}
	proxy := strings.NewReplacer("main.serve", "main.accept", "main.cart", "main.dial", "main.price", "main.relay", "main.stock", "main.log").Replace(shop)
	save("shop.now", "/app/shop-v1.4.2", shop)
	save("shop.base", `/tmp/shop-v1.4.1 (deleted)`, shop)
	save("proxy.base", "/app/proxy", shop) // its functions have the same names
	save("other.base", "/app/shop-v1.4.2", proxy)
	save("unnamed.base", "", shop)
	save("little.base", "", "cpu 10s\nmain.main;main.accept;encoding/json.Marshal 300\nmain.main;example.com/lib.Run 700\n")
	for _, tt := range []struct {
		base string
		want int
		said string
	}{
		{"shop.base", exitKept, "grew by 0.00 points"},
		{"unnamed.base", exitKept, "grew by 0.00 points"},
		{"proxy.base", exitUndecided, "the base is of another program, proxy, and this is a profile of shop: growth is judged against an earlier profile of the same program"},
		{"other.base", exitUndecided, "the base is of another program: no function of package main, or of the module, is in both"},
		{"little.base", exitBroken, "main.serve grew"}, // too few of its own to tell
	} {
		for _, subject := range []string{"main.serve grows below 20 points", "no function grows above 99 points"} {
			var out bytes.Buffer
			want := tt.want
			if subject[0] == 'n' && want == exitBroken {
				want = exitKept
			}
			status := run(t.Context(), []string{"check", "-budget", subject, "-budget", "main.serve below 20 cores", "-base", tt.base, "shop.now"}, nil, &out, &out)
			if status != want || want == tt.want && subject[0] == 'm' && !strings.Contains(out.String(), tt.said) || !strings.Contains(out.String(), "PASS main.serve below 20 cores") {
				t.Errorf("%s, %s: expected %d and %q, found %d\n%s", tt.base, subject, want, tt.said, status, out.String())
			}
		}
	}
}

// TestProfilesOfCompare: the profiles that compare has left are of binaries whose names differ from revision to
// revision, and from those of go test.
func TestProfilesOfCompare(t *testing.T) {
	write(t)
	save := func(name, file, pkg, function string) {
		p := folded.Must(fmt.Sprintf("cpu 10s\ntesting.(*B).runN;%[1]s.%[2]s;%[1]s.sum 300\ntesting.(*B).runN;%[1]s.%[2]s;%[1]s.parse 700\n", pkg, function))
		p.Mapping = []*profile.Mapping{{ID: 1, File: file}}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		put(t, name, b.String())
	}
	const base, head = "/tmp/base-bin/0123456789abcdef0123456789abcdef.test", "/tmp/head-bin/fedcba9876543210fedcba9876543210.test"
	save("base", base, "example.com/shop", "BenchmarkSum")
	save("head", head, "example.com/shop", "BenchmarkSum.func1")
	save("tested", "/tmp/shop.test", "example.com/shop_test", "BenchmarkSum")
	save("service", "/app/shop", "example.com/shop", "TestVariant")
	for _, tt := range []struct {
		old, now string
		want     int
		said     string
	}{
		{"base", "head", exitUndecided, "after 1000 samples (1000 before)"},
		{"base", "tested", exitUndecided, "after 1000 samples (1000 before)"},
		{"tested", "service", exitMisuse, "the base is of another program, shop.test, and this is a profile of shop: "},
	} {
		var out bytes.Buffer
		if status := run(t.Context(), []string{"diff", tt.old, tt.now}, nil, &out, &out); status != tt.want || !strings.Contains(out.String(), tt.said) {
			t.Errorf("%s against %s: expected %d and %q, found %d\n%s", tt.now, tt.old, tt.want, tt.said, status, out.String())
		}
	}
}

// factsOfTwo are the facts of a reference with two windows, of which one has jobs, too.
func factsOfTwo(program string) string {
	var s release.Side
	s.Build.Program = program
	s.Pieces.Add(release.Piece{Samples: 500, CPU: 5, Elapsed: 10, Work: map[string]float64{"request": 2000}})
	s.Pieces.Add(release.Piece{Samples: 500, CPU: 5, Elapsed: 10, Work: map[string]float64{"request": 3000, "job": 7}})
	return reference.FactsOf(&s, time.Now())
}

// TestFactsOfReferences: references say themselves which program they are of, whatever its file is called,
// and how much work was done in them.
func TestFactsOfReferences(t *testing.T) {
	write(t)
	save := func(name, file, program string) {
		p := folded.Must("cpu 10s\nmain.main;main.serve;main.cart 300\nmain.main;main.serve;main.price 700\n")
		p.Mapping = []*profile.Mapping{{ID: 1, File: file}}
		p.Comments = []string{factsOfTwo(program)}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		put(t, name, b.String())
	}
	save("old.pb.gz", "/app/kiosk3", "example.com/kiosk")
	save("new.pb.gz", "/app/kiosk4", "example.com/kiosk")
	save("other.pb.gz", "/app/kiosk4", "example.com/other")
	for _, tt := range []struct {
		args []string
		want int
		said string
	}{
		{[]string{"diff", "old.pb.gz", "new.pb.gz"}, exitUndecided, "per job"}, // the samples are few
		{[]string{"diff", "other.pb.gz", "new.pb.gz"}, exitMisuse, "of another program, example.com/other, and this is a profile of example.com/kiosk"},
		{[]string{"check", "-base", "old.pb.gz", "-budget", "main.serve grows below 20 points", "new.pb.gz"}, exitKept, "grew by 0.00 points"},
		{[]string{"check", "-base", "other.pb.gz", "-budget", "main.serve grows below 20 points", "new.pb.gz"}, exitUndecided, "of another program, example.com/other"},
		{[]string{"check", "-budget", "process below 2.1ms per request", "new.pb.gz"}, exitKept, "2ms"},
		{[]string{"check", "-budget", "process below 1.5ms per request", "new.pb.gz"}, exitBroken, "2ms"},
		{[]string{"check", "-budget", "process below 1.5ms per request", "-work", "request=50000", "new.pb.gz"}, exitKept, "200µs"},
		{[]string{"check", "-budget", "process below 2ms per job", "new.pb.gz"}, exitUndecided, "expected -work job=COUNT"}, // not all windows have it
		{[]string{"diff", "-base-work", "request=50", "old.pb.gz", "new.pb.gz"}, exitMisuse, "-base-work request=50: old.pb.gz says itself that there were 5000; leave out -base-work"},
		{[]string{"diff", "-base-work", "request=5000", "old.pb.gz", "new.pb.gz"}, exitUndecided, "per request"},
	} {
		var out bytes.Buffer
		if status := run(t.Context(), tt.args, nil, &out, &out); status != tt.want || !strings.Contains(out.String(), tt.said) {
			t.Errorf("%q: expected %d and %q, found %d\n%s", tt.args, tt.want, tt.said, status, out.String())
		}
	}
}

// built are a profile's stacks, written as a reference of a build that was first seen then.
func built(t *testing.T, name, stacks, version, since string) {
	t.Helper()
	p := folded.Must("cpu 10s\n" + stacks)
	p.Comments = []string{"profguard reference 2\nprogram \"example.com/kiosk\"\nversion \"" + version + "\"\nbinary \"" + version + "\"\n" + since}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	put(t, name, b.String())
}

// TestDiffOfFolder: the builds of a folder are in the order in which they were first seen, or written where
// that is not known: of two that ran at once, the old one may have written last.
func TestDiffOfFolder(t *testing.T) {
	write(t)
	if err := os.Mkdir("references", 0o700); err != nil {
		t.Fatal(err)
	}
	stacks := "main.main;main.serve;main.price 700\n"
	for _, tt := range []struct{ name, since1, since2, want string }{
		{"seen", "since 2026-01-01T00:00:00Z", "since 2026-01-02T00:00:00Z", "v2 is compared with v1 "},
		{"seen the other way", "since 2026-01-02T00:00:00Z", "since 2026-01-01T00:00:00Z", "v1 is compared with v2 "},
		{"written", "", "", "v1 is compared with v2 "},
	} {
		built(t, "references/v1.pb.gz", stacks, "v1", tt.since1)
		built(t, "references/v2.pb.gz", stacks, "v2", tt.since2)
		if at := time.Now().Add(-time.Minute); os.Chtimes("references/v2.pb.gz", at, at) != nil {
			t.Fatal("the time of a file cannot be set")
		}
		var out bytes.Buffer
		if run(t.Context(), []string{"diff", "references"}, nil, &out, &out); !strings.Contains(strings.ReplaceAll(out.String(), " against ", " is compared with ")+" ", strings.TrimSpace(tt.want)) {
			t.Errorf("%s: want %q\n%s", tt.name, tt.want, out.String())
		}
	}
}

// TestDiffUnits: work that is given decides by what is compared, or it is a mistake. Shares are compared only
// if none is given.
func TestDiffUnits(t *testing.T) {
	write(t)
	before, now := "main.main;main.serve;main.price 70000\n", ""
	for i := range 50 {
		before += fmt.Sprintf("main.main;main.serve;main.step%d 600\n", i)
		now += fmt.Sprintf("main.main;main.serve;main.step%d 1200\n", i)
	}
	for name, stacks := range map[string]string{"old": before, "new": before + "main.main;main.serve;main.price 1\n", "dearer": now + strings.Split(before, "\n")[0]} {
		var b bytes.Buffer
		if err := folded.Must("cpu 1000s\n" + stacks).Write(&b); err != nil {
			t.Fatal(err)
		}
		put(t, name, b.String())
	}
	mistake := "expected a unit of work with a number above 0 on both sides, found "
	for _, tt := range []struct {
		args string
		want int
		said string
	}{
		{"old new -base-work requets=60000 -work request=60000", exitMisuse, mistake + "requets=60000 in OLD (-base-work) and request=60000 in NEW (-work)"},
		{"old new -base-work request=0 -work request=60000", exitMisuse, mistake + "request=0 in OLD"},
		{"old new -base-work request=60000", exitMisuse, mistake + "request=60000 in OLD (-base-work) and none in NEW"},
		{"old new -base-work request=60000 -work request=60000", exitKept, "PASS process grows below 10% per request"},
		{"old dearer -base-work request=60000 -work request=60000", exitBroken, "FAIL process grows below 10% per request"}, // none of the 50 is above 3 points
		{"old new", exitUndecided, "INCONCLUSIVE no function grows above 3 points\n"},
	} {
		var out bytes.Buffer
		if status := run(t.Context(), append([]string{"diff"}, strings.Fields(tt.args)...), nil, &out, &out); status != tt.want || !strings.Contains(out.String(), tt.said) {
			t.Errorf("%s: expected %d and %q, found %d\n%s", tt.args, tt.want, tt.said, status, out.String())
		}
	}
}

// TestDiffTenants: budgets on values compare these, of profiles with the label; the comparison of the builds is that of
// functions all the same.
func TestDiffTenants(t *testing.T) {
	write(t)
	tenants := func(acme int, more string) string {
		text := fmt.Sprintf("cpu 1000s\nmain.main;main.serve;main.report %d {tenant=acme}\n", acme) + more
		for i := range 20 {
			text += fmt.Sprintf("main.main;main.serve;main.page 4000 {tenant=t%d}\n", i)
		}
		return text
	}
	ids := "cpu 1000s\n"
	for i := range 10_000 {
		ids += fmt.Sprintf("main.main;main.serve;main.page 8 {tenant=u%d}\n", i)
	}
	for name, text := range map[string]string{
		"old": tenants(4000, ""), "same": tenants(4001, ""), "dearer": tenants(40000, ""), "new": tenants(4000, "main.main;main.serve;main.report 36000 {tenant=fresh}\n"),
		"none": "cpu 1000s\nmain.main;main.serve;main.report 4000\nmain.main;main.serve;main.page 80000\n",
		"ids":  ids, "later": ids + "main.main;main.serve;main.page 1 {tenant=u0}\n",
	} {
		var b bytes.Buffer
		if err := folded.Must(text).Write(&b); err != nil {
			t.Fatal(err)
		}
		put(t, name, b.String())
	}
	const work = " -base-work request=60000 -work request=60000 "
	for _, tt := range []struct {
		args, sentence string
		want           int
		said           string
	}{
		{"old same" + work, "no tenant grows above 5 points per request", exitKept, "PASS no tenant grows above 5 points per request\n  no tenant has"},
		{"old dearer" + work, "no tenant grows above 5 points per request", exitBroken, "tenant acme costs 6.667ms per request, 666.7µs before: +42.9 points ("},
		{"old dearer", "no tenant grows above 5 points", exitBroken, "tenant acme costs 33.33%, 4.76% before: "},
		{"old dearer" + work, "no tenant grows above 5 points per request except acme", exitKept, "no tenant has"},
		{"old new" + work, "no tenant grows above 5 points per request", exitBroken, "tenant fresh costs 6ms per request, nothing before: "},
		{"none new" + work, "no tenant grows above 5 points per request", exitUndecided, "no sample has the label tenant before"},
		{"old none" + work, "no tenant grows above 5 points per request", exitUndecided, "no sample has the label tenant now"},
		{"ids later" + work, "no tenant grows above 5 points per request", exitKept, "no tenant has"}, // what each may have is known
		{"ids dearer" + work, "no tenant grows above 5 points per request", exitBroken, "tenant acme costs"},
	} {
		var out bytes.Buffer
		status := run(t.Context(), slices.Concat([]string{"diff", "-budget", tt.sentence}, strings.Fields(tt.args)), nil, &out, &out)
		if status != tt.want || !strings.Contains(out.String(), tt.said) {
			t.Errorf("%s: expected %d and %q, found %d\n%s", tt.args, tt.want, tt.said, status, out.String())
		}
	}
}

// TestCheckTenantsWork: the work of each value is given by its unit; without any, what to give is said.
func TestCheckTenantsWork(t *testing.T) {
	write(t)
	var b bytes.Buffer
	if err := folded.Must("cpu 100s\nmain.main;main.serve;main.report 4000 {tenant=acme}\nmain.main;main.serve 400 {tenant=blue}\n").Write(&b); err != nil {
		t.Fatal(err)
	}
	put(t, "tenants", b.String())
	const sentence = "no tenant above 50ms per jobs_total by queue"
	for _, tt := range []struct {
		acme, blue string
		want       int
		said       string
	}{
		{`jobs_total{queue="acme"}=100`, `jobs_total{queue="blue"}=1000`, exitBroken, "tenant acme at 400"},
		{`jobs_total{queue="acme"}=10000`, `jobs_total{queue="blue"}=1000`, exitKept, "surely below"},
		{`jobs_total{queue="acme"}=10000`, `jobs_total{queue="green"}=1000`, exitUndecided, "tenant blue has no jobs_total by queue"},
		{`jobs_total=10000`, `jobs=1`, exitUndecided, "-work 'jobs_total{queue=\"VALUE\"}=COUNT' for each"},
	} {
		var out bytes.Buffer
		if status := run(t.Context(), []string{"check", "-budget", sentence, "-work", tt.acme, "-work", tt.blue, "tenants"}, nil, &out, &out); status != tt.want || !strings.Contains(out.String(), tt.said) {
			t.Errorf("%s %s: expected %d and %q, found %d\n%s", tt.acme, tt.blue, tt.want, tt.said, status, out.String())
		}
	}
}

// TestSuggestedPlaces: the paths of own files in a suggestion are those that check shows.
func TestSuggestedPlaces(t *testing.T) {
	at := func(function string, line int) budget.Frame {
		return budget.Frame{Function: function, File: "example.com/shop/internal/notes/" + function + ".go", Line: line, InModule: true}
	}
	o := budget.Offender{Frame: budget.Frame{Function: "encoding/json.Unmarshal", Share: 0.5}, Blame: at("get", 7), Owner: at("debug", 9)}
	const want = "encoding/json.Unmarshal with 50.0%, called from get (example.com/shop/internal/notes/get.go:7), nearly all of it in debug (example.com/shop/internal/notes/debug.go:9)"
	if got := where(&o, unit.Share.String()); got != want {
		t.Errorf("expected\n%s, found\n%s", want, got)
	}
}

// GitHub shows a fault where it can be changed: at the function that makes a helper expensive, if there is one.
func TestPlaces(t *testing.T) {
	at := func(function string, line int) budget.Frame {
		return budget.Frame{Function: function, File: function + ".go", Line: line}
	}
	r := budget.Result{Offenders: []budget.Offender{
		{Frame: at("decode", 3), Blame: at("get", 7), Owner: at("debug", 9)},
		{Frame: at("split", 4), Blame: at("find", 8)},
		{Frame: at("list", 5)},
	}}
	for _, tt := range []struct {
		line func(*budget.Offender) budget.Frame
		want string
	}{{ownerOf, "debug.go:9 find.go:8 list.go:5"}, {blameOf, "get.go:7 find.go:8 list.go:5"}} {
		var got []string
		for _, p := range placesOf(&r, tt.line) {
			got = append(got, p.String())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("expected %s, found %s", tt.want, got)
		}
	}
}
