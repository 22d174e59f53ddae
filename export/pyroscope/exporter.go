// Package pyroscope sends profiles to Pyroscope, by its push API:
//
//	g, err := guard.Start(guard.Config{Export: guard.Export{To: &pyroscope.Exporter{Address: "http://pyroscope:4040"}}})
//
// Windows (guard.Export.All) have the type process_cpu, as profiles of Pyroscope's agent do. Dumps
// have types of their own, profguard_cpu, profguard_goroutine ..., so that Pyroscope does not add them
// to the windows.
//
// Beside Pyroscope's own agent, [Client] lets a guard judge what the agent sends.
package pyroscope

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/export"
)

// An Exporter sends profiles to Pyroscope. Its fields must not change after guard.Start.
type Exporter struct {
	// Address is the address of the server: http://pyroscope:4040.
	Address string
	// Tenant is sent as X-Scope-OrgID. "" means none.
	Tenant string
	// User and Password are for basic authentication, as Grafana Cloud needs it.
	User, Password string
	// Header is sent with each request. nil means none.
	Header http.Header
	// Client sends the requests. nil means one that trusts the certificates of the system.
	Client *http.Client
	// UI is the address of Pyroscope's pages for people. "" means Address.
	UI string
}

const path = "/push.v1.PusherService/Push"

// Validate returns the mistakes in the fields.
func (e *Exporter) Validate() error {
	if e == nil {
		return errors.New(`pyroscope.Exporter: expected one, found nil: leave Config.Export.To out, or give it &pyroscope.Exporter{Address: "http://pyroscope:4040"}`)
	}
	err := export.Address("pyroscope.Exporter.Address", e.Address, "http://pyroscope:4040", "/ingest", path, "/push.v1.PusherService")
	if (e.User == "") != (e.Password == "") {
		err = errors.Join(err, errors.New("pyroscope.Exporter.User, Password: expected both or none, found one: Grafana Cloud has a number as the user, and a token as the password"))
	}
	return err
}

// Export implements [guard.Exporter].
func (e *Exporter) Export(ctx context.Context, p guard.Profile) error {
	header := e.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/proto")
	header.Set("Connect-Protocol-Version", "1")
	if e.Tenant != "" {
		header.Set("X-Scope-OrgID", e.Tenant)
	}
	if e.User != "" {
		r := http.Request{Header: header}
		r.SetBasicAuth(e.User, e.Password)
	}
	_, err := export.Post(ctx, e.Client, strings.TrimRight(e.Address, "/")+path, header, encode(p))
	if err != nil {
		return fmt.Errorf("pyroscope: %w", err)
	}
	return nil
}

// shows is the type of value that Pyroscope's pages show of a kind of profile.
var shows = map[string]string{
	"cpu":           "cpu:nanoseconds:cpu:nanoseconds",
	"heap":          "inuse_space:bytes:space:bytes",
	"allocs":        "alloc_space:bytes:space:bytes",
	"goroutine":     "goroutine:count:goroutine:count",
	"goroutineleak": "goroutineleak:count:goroutineleak:count",
	"mutex":         "delay:nanoseconds:contentions:count",
	"block":         "delay:nanoseconds:contentions:count",
}

// nameOf is the name of a type of profiles. Pyroscope adds up what has the same: windows are the
// process's CPU, as that of agents is, and a dump has the samples of a window or of another dump again.
func nameOf(p guard.Profile) string {
	if p.Budget == "" && p.Kind == "cpu" {
		return "process_cpu"
	}
	return "profguard_" + label(p.Kind)
}

// URL returns the address of a page of Pyroscope with this profile: its time, service, instance and
// budget.
func (e *Exporter) URL(p guard.Profile) string {
	of, known := shows[p.Kind]
	if !known {
		return ""
	}
	base := e.UI
	if base == "" {
		base = e.Address
	}
	var wanted []string
	all := labels(p)
	for _, name := range []string{"service_name", "service_instance_id", "profguard_budget"} {
		if v := all[name]; v != "" {
			wanted = append(wanted, fmt.Sprintf("%s=%q", name, v))
		}
	}
	q := url.Values{
		"query": {fmt.Sprintf("%s:%s{%s}", nameOf(p), of, strings.Join(wanted, ","))},
		"from":  {fmt.Sprint(p.Start.Unix() - 1)},
		"until": {fmt.Sprint(p.End.Unix() + 1)},
	}
	return strings.TrimRight(base, "/") + "/?" + q.Encode()
}

func service(p guard.Profile) string {
	if s := p.Attributes["service.name"]; s != "" {
		return s
	}
	return "unknown_service"
}

// few are the attributes of a dump that become labels. The others have other values in each dump,
// and would make a series of each.
var few = map[string]bool{"profguard.verdict": true}

// labels are those of the series. A series that is not to be subtracted from the one before says so.
func labels(p guard.Profile) map[string]string {
	of := map[string]string{}
	for k, v := range p.Attributes {
		if v != "" && (!strings.HasPrefix(k, "profguard.") || few[k]) {
			of[label(k)] = strings.ToValidUTF8(v, "\uFFFD")
		}
	}
	if p.Budget != "" {
		of["profguard_budget"] = strings.ToValidUTF8(p.Budget, "\uFFFD")
	}
	of["__name__"], of["__delta__"], of["service_name"] = nameOf(p), "false", service(p)
	return of
}

// label is a name as Prometheus allows it.
func label(s string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// The fields of push.v1.PushRequest and what it holds.
const (
	requestSeries = 1
	seriesLabels  = 1
	seriesSamples = 2
	labelName     = 1
	labelValue    = 2
	sampleProfile = 1
	sampleID      = 2
)

// encode makes a PushRequest. With the API's own package a program would link gRPC's gateway.
func encode(p guard.Profile) []byte {
	var series []byte
	of := labels(p)
	for _, k := range slices.Sorted(maps.Keys(of)) {
		series = field(series, seriesLabels, field(field(nil, labelName, []byte(k)), labelValue, []byte(of[k])))
	}
	series = field(series, seriesSamples, field(field(nil, sampleProfile, p.Data), sampleID, []byte(uuid(p.ID))))
	return field(nil, requestSeries, series)
}

func field(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

// uuid is the same whenever a profile is sent.
func uuid(id string) string {
	sum := sha256.Sum256([]byte(id))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8, for hashes of one's own
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
