// Package otlp sends profiles to an OpenTelemetry collector, as OTLP profiles by HTTP:
//
//	g, err := guard.Start(guard.Config{Export: guard.Export{To: &otlp.Exporter{Endpoint: "http://collector:4318"}}})
//
// OTLP profiles are in alpha, version 1 of their development. Collectors from 0.165 on receive
// them if they are started with --feature-gates=service.profilesSupport and have a pipeline for
// profiles.
//
// A profile with two types of values, such as samples and nanoseconds, becomes two profiles in one
// request. The pprof labels of samples become their attributes.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/export"
)

// An Exporter sends profiles to a collector. Its fields must not change after guard.Start.
type Exporter struct {
	// Endpoint is the address of the receiver, as in http://collector:4318. The path of OTLP
	// profiles is added if there is none.
	Endpoint string
	// Header is sent with each request, for tokens. nil means none.
	Header http.Header
	// Client sends the requests. nil means one that trusts the certificates of the system.
	Client *http.Client
	// Link returns the address of a profile in the store behind the collector, for events and the
	// page. nil means that they have none.
	Link func(guard.Profile) string
}

const (
	path = "/v1development/profiles"
	// version is the development version of the profiles that are sent.
	version = "1"
)

// Validate returns the mistakes in the fields.
func (e *Exporter) Validate() error {
	if e == nil {
		return errors.New(`otlp.Exporter: expected one, found nil: leave Config.Export.To out, or give it &otlp.Exporter{Endpoint: "http://collector:4318"}`)
	}
	return export.Address("otlp.Exporter.Endpoint", e.Endpoint, "http://collector:4318")
}

// URL returns the address of a profile, by Link.
func (e *Exporter) URL(p guard.Profile) string {
	if e.Link == nil {
		return ""
	}
	return e.Link(p)
}

// Export implements [guard.Exporter].
func (e *Exporter) Export(ctx context.Context, p guard.Profile) error {
	req, err := encode(p)
	if err != nil {
		return fmt.Errorf("otlp: %w: %w", guard.ErrPermanent, err)
	}
	body, err := proto.Marshal(req)
	if err != nil {
		return fmt.Errorf("otlp: %w: %w", guard.ErrPermanent, err)
	}
	header := e.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/x-protobuf")
	header.Set("Content-Encoding", "gzip")
	header.Set("OTLP-Profiles-Development-Version", version)
	answer, err := export.Post(ctx, e.Client, e.url(), header, decode.Gzip(body))
	if err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	var resp collector.ExportProfilesServiceResponse
	if err := proto.Unmarshal(answer, &resp); err != nil {
		return fmt.Errorf("otlp: the answer is none of a receiver of OTLP, is %s its address? %w", e.Endpoint, err)
	}
	if s := resp.GetPartialSuccess(); s.GetRejectedProfiles() > 0 {
		return fmt.Errorf("otlp: %d profiles %w: %s", s.RejectedProfiles, guard.ErrPermanent, s.ErrorMessage)
	}
	return nil
}

func (e *Exporter) url() string {
	scheme, host, _ := strings.Cut(e.Endpoint, "://")
	if before, _, has := strings.Cut(strings.TrimRight(host, "/"), "/"); !has {
		return scheme + "://" + before + path
	}
	return e.Endpoint
}
