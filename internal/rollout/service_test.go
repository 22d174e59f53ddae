package rollout

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// served is what a service answers.
func served(s *Service, path string) (status int, body string) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// TestService: each job has a state, and what it costs more has points. A job that could not be asked has none, so that
// nobody takes an old one for today's, and the service is not healthy.
func TestService(t *testing.T) {
	prom := rolledOut(t, nil, 0.1, 1)
	r := rand.New(rand.NewPCG(53, 1))
	for i := range 3 {
		prom.add("calm", fmt.Sprint("calm-", i), lived(r, small(0).start(r, 1), "v1", 0, end))
	}
	var said []string
	s := &Service{Client: prom.client(t), Options: loose, Jobs: []string{"calm", "shop"}, Every: time.Hour, Log: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	if status, _ := served(s, "/healthz"); status != http.StatusServiceUnavailable {
		t.Errorf("healthy before the first look: %d", status)
	}
	s.look(t.Context(), minute(end-1))
	status, text := served(s, "/metrics")
	if health, _ := served(s, "/healthz"); status != http.StatusOK || health != http.StatusOK {
		t.Errorf("%d, healthz %d", status, health)
	}
	for _, want := range []string{
		`profguard_rollout_state{job="shop",version="v2",revision="r-v2",before="v1 (r-v1)",unit="request"} 1` + "\n",
		`profguard_rollout_points{job="shop",version="v2",revision="r-v2",before="v1 (r-v1)",unit="request",function="main.f002"} `,
		"profguard_rollout_failures_total 0\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "calm") || strings.Contains(text, `"main.f000"`) {
		t.Errorf("one build of a job, and a function that costs no more, are told of:\n%s", text)
	}
	for query, want := range map[string]int{"job=shop&state=dearer": 200, "job=shop&state=equal&state=undecided": 409, "job=calm&state=undecided": 200, "job=other&state=equal": 404, "": 404,
		"job=shop&state=dearer&build=": 400, "job=shop&state=dearer&build=r-v2": 200, "job=shop&state=dearer&build=v3": 409, "job=shop&state=undecided&build=v3": 200} {
		if status, text := served(s, "/gate?"+query); status != want {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	// A look that hangs leaves the one before, which is not today's for long.
	asked := s.asked
	for ago, want := range map[time.Duration]int{3 * time.Hour: 200, 4 * time.Hour: 409} {
		s.asked = asked.Add(-ago)
		if status, text := served(s, "/gate?job=shop&state=dearer"); status != want {
			t.Errorf("%v after a look: %d %s", ago, status, text)
		}
	}
	s.asked = asked
	// Two builds of one version are told apart by their revisions only.
	before := s.outcomes[1].Before
	s.outcomes[1].Before.Version = "v2"
	for build, want := range map[string]int{"v2": 409, "r-v2": 200} {
		if status, text := served(s, "/gate?job=shop&state=dearer&build="+build); status != want {
			t.Errorf("%s of two: %d %s", build, status, text)
		}
	}
	s.outcomes[1].Before = before
	prom.mangle = func(w http.ResponseWriter) bool { fmt.Fprint(w, "<html>"); return true }
	s.look(t.Context(), minute(end))
	_, text = served(s, "/metrics")
	if health, why := served(s, "/healthz"); health != http.StatusServiceUnavailable || !strings.Contains(why, "expected JSON") {
		t.Errorf("healthz %d %s", health, why)
	}
	if strings.Contains(text, "profguard_rollout_state{") || !strings.Contains(text, "profguard_rollout_failures_total 1\n") {
		t.Errorf("an old state is served:\n%s", text)
	}
	prom.mangle = nil
	s.look(t.Context(), minute(end))
	if len(said) != 2 || !strings.Contains(said[0], "not all jobs are looked at") || !strings.Contains(said[1], "again") {
		t.Errorf("said %q", said)
	}
}

// TestServiceBlind: a service that has never been answered serves since when it tries, for the alert that it is blind.
func TestServiceBlind(t *testing.T) {
	prom := &server{mangle: func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusUnauthorized); return true }}
	s := &Service{Client: prom.client(t), Options: loose, Log: func(string, ...any) {}}
	for n := range 3 {
		s.look(t.Context(), minute(n))
		if _, text := served(s, "/metrics"); !strings.Contains(text, fmt.Sprintf("profguard_rollout_last_look_timestamp_seconds %.3f\n", float64(began.UnixMilli())/1000)) {
			t.Errorf("after look %d:\n%s", n, text)
		}
	}
	if status, text := served(s, "/healthz"); status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", status, text)
	}
}

// Names are quoted, and bounded.
func TestServiceLabels(t *testing.T) {
	if got := quoted("a\"b\\c\nd\xff" + strings.Repeat("x", 1000)); !strings.HasPrefix(got, "\"a\\\"b\\\\c\ufffdd\ufffdx") || len(got) > longLabel+20 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
