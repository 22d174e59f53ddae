package receivers

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"

	"github.com/profguard/profguard/export/pyroscope"
	"github.com/profguard/profguard/guard"
)

// A pusher is the handler of Pyroscope's push API.
type pusher struct {
	pushv1connect.UnimplementedPusherServiceHandler
	mu     sync.Mutex
	got    []*pushv1.PushRequest
	header http.Header
	fail   *connect.Error
}

func (p *pusher) Push(_ context.Context, r *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return nil, p.fail
	}
	p.got, p.header = append(p.got, r.Msg), r.Header()
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

// What the API's own handler reads is what was sent.
func TestPyroscope(t *testing.T) {
	pusher := new(pusher)
	mux := http.NewServeMux()
	mux.Handle(pushv1connect.NewPusherServiceHandler(pusher))
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	e := &pyroscope.Exporter{Address: server.URL + "/", Client: server.Client(), Tenant: "team", User: "u", Password: "p"}
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for kind, p := range taken(t) {
		p.Attributes["bad name\xff"], p.Attributes["1st"] = "v\xff", "x"
		for range 2 { // again has the same id
			if err := e.Export(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		got := pusher.got[len(pusher.got)-1].Series
		if len(got) != 1 || len(got[0].Samples) != 1 || !slices.Equal(got[0].Samples[0].RawProfile, p.Data) {
			t.Fatalf("%s: %d series", kind, len(got))
		}
		ids[got[0].Samples[0].ID] = true
		labels := map[string]string{}
		for _, l := range got[0].Labels {
			labels[l.Name] = l.Value
		}
		for name, want := range map[string]string{
			"__name__":     "profguard_" + kind,
			"service_name": "shop", "service_version": "v1.2.3", "profguard_budget": "hot", "profguard_verdict": "fail", "__delta__": "false", "bad_name_": "v\uFFFD", "_1st": "x",
		} {
			if labels[name] != want {
				t.Errorf("%s: label %s is %q, want %q", kind, name, labels[name], want)
			}
		}
		p.Attributes["service.instance.id"] = `pod "1"`
		at, err := url.Parse(e.URL(p))
		if want := "profguard_" + kind + `:.*\{service_name="shop",service_instance_id="pod \\"1\\"",profguard_budget="hot"\}`; err != nil || at.Path != "/" || !regexp.MustCompile("^"+want+"$").MatchString(at.Query().Get("query")) {
			t.Errorf("%s: %s, want %s", kind, at.Query().Get("query"), want)
		}
		if p.Budget = ""; kind == "cpu" && !strings.Contains(e.URL(p), "query=process_cpu%3Acpu") || strings.Contains(e.URL(p), "budget") {
			t.Errorf("a window: %s", e.URL(p))
		}
	}
	if len(ids) != 5 {
		t.Errorf("ids %v", ids)
	}
	if user, password, _ := (&http.Request{Header: pusher.header}).BasicAuth(); user != "u" || password != "p" || pusher.header.Get("X-Scope-OrgID") != "team" {
		t.Errorf("header %v", pusher.header)
	}
	for want, e := range map[string]*pyroscope.Exporter{
		"expected one, found nil":                     nil,
		"found none":                                  {},
		"with /ingest at its end: leave that out":     {Address: "http://pyroscope:4040/ingest"},
		"with /push.v1.PusherService/Push at its end": {Address: "http://pyroscope:4040/push.v1.PusherService/Push/"},
		"with /push.v1.PusherService at its end":      {Address: "http://pyroscope:4040/push.v1.PusherService"},
		"User, Password: expected both or none":       {Address: "http://pyroscope:4040", User: "7"},
		"a token as the password":                     {Address: "http://pyroscope:4040", Password: "x"},
		"":                                            {Address: "http://proxy/pyroscope/", User: "7", Password: "x"},
	} {
		if err := e.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	p := taken(t)["cpu"]
	for code, refused := range map[connect.Code]bool{connect.CodeInvalidArgument: true, connect.CodeUnavailable: false, connect.CodeResourceExhausted: false, connect.CodeUnauthenticated: false} {
		pusher.fail = connect.NewError(code, errors.New("planted"))
		if err := e.Export(t.Context(), p); err == nil || errors.Is(err, guard.ErrPermanent) != refused || !strings.Contains(err.Error(), "planted") {
			t.Errorf("%v: %v", code, err)
		}
	}
}
