// Package bucket keeps profiles in S3, Google Cloud Storage, Azure, or a folder, by gocloud.dev/blob:
//
//	store, err := blob.OpenBucket(ctx, "s3://profiles?region=eu-west-1") // with _ "gocloud.dev/blob/s3blob"
//	g, err := guard.Start(guard.Config{Export: guard.Export{To: &bucket.Exporter{Bucket: store}}})
//
// A profile is an object, with a JSON object beside it that says what it is:
//
//	<prefix><service>/2026/11/27/<id>.pb.gz
//	<prefix><service>/2026/11/27/<id>.json
//
// The profile is written last, so each profile in the bucket is whole and has its JSON. A profile that
// is sent again has the same name. Nothing is deleted: let a rule of the bucket do that.
package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/profguard/profguard/guard"
)

// An Exporter writes profiles to a bucket. Its fields must not change after guard.Start.
type Exporter struct {
	// Bucket takes the profiles. The program that opened it closes it, after the guard's Stop.
	Bucket *blob.Bucket
	// Prefix is in front of all keys: "profiles/". It may be "".
	Prefix string
	// Base is the address of the bucket for people: "https://profiles.s3.eu-west-1.amazonaws.com" or
	// "s3://profiles". With the key of an object it is the address of a dump in events and on the
	// page. "" means that they have none.
	Base string
}

// Validate returns the mistakes in the fields.
func (e *Exporter) Validate() error {
	if e == nil {
		return errors.New("bucket.Exporter: expected one, found nil: leave Config.Export.To out, or give it &bucket.Exporter{Bucket: store}")
	}
	if e.Bucket == nil {
		return errors.New(`bucket.Exporter.Bucket: expected an open bucket, found nil: open one with blob.OpenBucket(ctx, "s3://name?region=eu-west-1")`)
	}
	return nil
}

// A Description is the JSON beside a profile.
type Description struct {
	ID         string            `json:"id"`
	Kind       string            `json:"kind"`
	Start      time.Time         `json:"start"`
	End        time.Time         `json:"end"`
	Budget     string            `json:"budget,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// Export implements [guard.Exporter].
func (e *Exporter) Export(ctx context.Context, p guard.Profile) error {
	about, err := json.MarshalIndent(Description{p.ID, p.Kind, p.Start, p.End, p.Budget, p.Attributes}, "", "  ")
	if err == nil {
		err = e.write(ctx, e.key(p)+".json", about, "application/json")
	}
	if err == nil {
		err = e.write(ctx, e.key(p)+".pb.gz", p.Data, "application/octet-stream") // with gzip's encoding, browsers would inflate it
	}
	switch gcerrors.Code(err) {
	case gcerrors.OK:
		return nil
	case gcerrors.InvalidArgument:
		return fmt.Errorf("bucket: %w: %w", guard.ErrPermanent, err)
	}
	return fmt.Errorf("bucket: %w", err)
}

func (e *Exporter) write(ctx context.Context, key string, data []byte, contentType string) error {
	return e.Bucket.WriteAll(ctx, key, data, &blob.WriterOptions{ContentType: contentType, DisableContentTypeDetection: true})
}

// URL returns the address of a profile, below Base. It is "" without a Base.
func (e *Exporter) URL(p guard.Profile) string {
	if e.Base == "" {
		return ""
	}
	base := e.Base
	if !strings.Contains(base, "?") { // or the key is a value, as in https://console.example/?object=
		base = strings.TrimRight(base, "/") + "/"
	}
	return base + e.key(p) + ".pb.gz"
}

// key is the key without its extension.
func (e *Exporter) key(p guard.Profile) string {
	service := p.Attributes["service.name"]
	if service == "" {
		service = "unknown_service"
	}
	return e.Prefix + path.Join(plain(service), p.Start.UTC().Format("2006/01/02"), plain(p.ID))
}

// plain is a text without what separates or ends keys in some store or shell.
func plain(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, s), ".")
}
