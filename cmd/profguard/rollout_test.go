package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/rollout"
)

// runRollout runs the command against a server.
func runRollout(t *testing.T, answer http.HandlerFunc, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	var out, err bytes.Buffer
	status = run(t.Context(), append([]string{"rollout", "-prometheus", server.URL}, args...), strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

const nothing = `{"status": "success", "data": {"resultType": "matrix", "result": []}}`

func empty(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, nothing) }

// TestRolloutMisuse: what cannot be asked is wrong use, and what nobody counts is undecided, and a
// Prometheus that does not answer is neither, so that a gate that accepts undecided does not pass with a wrong token.
func TestRolloutMisuse(t *testing.T) {
	for want, args := range map[string][]string{
		"expected one -job, found 0":           {},
		"expected one -job, found 2":           {"-job", "a", "-job", "b"},
		"expected no arguments":                {"-job", "a", "b"},
		"-limit and -process: expected":        {"-job", "a", "-limit", "0"},
		`invalid value "" for flag -build`:     {"-job", "a", "-build", ""}, // a variable that is not set
		`invalid value "" for flag -job`:       {"-job", ""},
		`invalid value "/(/" for flag -except`: {"-job", "a", "-except", "/(/"},
		"-since: expected":                     {"-job", "a", "-since", "1s"},
		"expected -every of a second":          {"-job", "a", "-wait", "-1s"},
		"expected text, json, markdown or":     {"-job", "a", "-o", "xml"},
		"expected none of -build, -base":       {"-listen", ":0", "-build", "v2"},
		"-base, -wait and -o":                  {"-listen", ":0", "-o", "json"},
		"-authorization: expected a file":      {"-job", "a", "-authorization", "missing"},
		"expected -prometheus with an address": {"-job", "a", "-prometheus", "prometheus:9090"},
	} {
		if status, _, said := runRollout(t, empty, args...); status != exitMisuse || !strings.Contains(said, want) {
			t.Errorf("%q: status %d, %s, want %s", args, status, said, want)
		}
	}
	if status, out, said := runRollout(t, empty, "-job", "a"); status != exitUndecided || !strings.Contains(out, "counts functions") {
		t.Errorf("status %d, %s%s", status, out, said)
	}
	for want, answer := range map[string]http.HandlerFunc{
		"answered 404 Not Found, and no JSON of Prometheus's API\n": http.NotFound,
		"answered 503": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"401 Unauthorized; -authorization FILE sends": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
	} {
		if status, out, said := runRollout(t, answer, "-job", "a"); status != exitMisuse || !strings.Contains(out+said, want) {
			t.Errorf("status %d, %s%s, want %s", status, out, said, want)
		}
	}
}

// TestRolloutRefused: nobody waits for a server that refuses, and a program that reads JSON gets the error, as one.
func TestRolloutRefused(t *testing.T) {
	for want, answer := range map[string]http.HandlerFunc{
		"401 Unauthorized; -authorization FILE": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"403 Forbidden":                         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"400 Bad Request: expected the status success, found \"error\": 1:5: parse error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"status": "error", "error": "1:5: parse error"}`)
		},
	} {
		status, out, said := runRollout(t, answer, "-job", "a", "-wait", "10h", "-o", "json")
		var found struct {
			Version int
			State   string
			Error   string
		}
		if err := json.Unmarshal([]byte(out), &found); err != nil || found.Version != 1 || found.State != "" || !strings.Contains(found.Error, want) {
			t.Errorf("expected JSON with %s, found %v, %s", want, err, out)
		}
		if status != exitMisuse || strings.Contains(said, "waiting") || !strings.Contains(said, want) {
			t.Errorf("expected status %d and %s, found %d, %s", exitMisuse, want, status, said)
		}
	}
}

// TestRolloutToken: the token is read again for each question, and is in no message.
func TestRolloutToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first-secret")
	var got []string
	status, out, said := runRollout(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		write("second-secret")
		if len(got) == 1 {
			fmt.Fprint(w, nothing)
			return
		}
		fmt.Fprintf(w, `{"status": "error", "error": "%s is wrong"}`, r.Header.Get("Authorization"))
	}, "-job", "a", "-authorization", file)
	if strings.Join(got, ", ") != "Bearer first-secret, Bearer second-secret" || status != exitMisuse || strings.Contains(out+said, "second-secret") {
		t.Errorf("sent %q, status %d, said %s%s", got, status, out, said)
	}
}

// TestRolloutTokenOfPipe: as a shell's <(echo "$TOKEN") gives one, which is empty when it is read again.
func TestRolloutTokenOfPipe(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	fmt.Fprintln(write, "the-secret")
	write.Close()
	var got []string
	_, out, said := runRollout(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		empty(w, r)
	}, "-job", "a", "-authorization", fmt.Sprintf("/dev/fd/%d", read.Fd()))
	if len(got) < 2 || slices.ContainsFunc(got, func(s string) bool { return s != "Bearer the-secret" }) {
		t.Errorf("sent %q, said %s%s", got, out, said)
	}
}

// TestRolloutForms: each form has the state, what costs more, and its bounds.
func TestRolloutForms(t *testing.T) {
	out := &rollout.Outcome{
		Job: "shop", State: rollout.Dearer, Text: "shop v2 costs more: main.tax +5.00 points", Process: &rollout.Change{Value: 0.05, Low: 0.04, High: 0.06},
		Functions: []rollout.Function{
			{Name: "main.tax", State: rollout.Dearer, Points: rollout.Change{Value: 0.05, Low: 0.02, High: 0.08}},
			{Name: "main.open", State: rollout.Undecided, Points: rollout.Change{Value: 0.01, Low: -0.02, High: 20}},
			{Name: "main.new", State: rollout.Undecided, Points: rollout.Change{Value: 0.02, Low: 0.01, High: 0.03}, MayMove: true},
			{Name: "main.same", State: rollout.Equal},
		},
		Notes: []string{"1 process that ended was left out"},
	}
	for form, want := range map[string]string{
		"text":     "  dearer    main.tax: +5.00 points (+2.00 to +8.00)\n  undecided main.open: +1.00 points (-2.00 to any number)\n  undecided main.new: +2.00 points (+1.00 to +3.00), unless it only moved\nNote: 1 process",
		"markdown": "| dearer | `main.tax` | +5.00 points (+2.00 to +8.00) |",
		"junit":    `failures="1"`,
		"json":     `"state": "dearer"`,
	} {
		var b bytes.Buffer
		if err := writeRollout(&b, form, out); err != nil || !strings.Contains(b.String(), want) || form != "json" && strings.Contains(b.String(), "main.same") {
			t.Errorf("%s: %v, %s", form, err, b.String())
		}
		if form == "json" && !json.Valid(b.Bytes()) {
			t.Errorf("no JSON: %s", b.String())
		}
	}
}
