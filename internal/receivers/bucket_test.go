package receivers

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/s3blob"

	"github.com/profguard/profguard/export/bucket"
	"github.com/profguard/profguard/guard"
)

// What is in S3, or in a folder, is what was sent. Sent again it is one object.
func TestBucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	backend := s3mem.New()
	if err := backend.CreateBucket("profiles"); err != nil {
		t.Fatal(err)
	}
	var down atomic.Bool
	s3 := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s3.ServeHTTP(w, r)
	}))
	defer server.Close()
	inS3, err := blob.OpenBucket(t.Context(), "s3://profiles?region=us-east-1&use_path_style=true&disable_https=true&endpoint="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	inFolder, err := fileblob.OpenBucket(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]*blob.Bucket{"s3": inS3, "folder": inFolder} {
		t.Run(name, func(t *testing.T) {
			e := &bucket.Exporter{Bucket: store, Prefix: "p/", Base: "s3://profiles/"}
			all := taken(t)
			for _, p := range all {
				p.Attributes["service.name"] = "../shop/\x00web"
				for range 2 {
					if err := e.Export(t.Context(), p); err != nil {
						t.Fatal(err)
					}
				}
			}
			objects := 0
			for it := store.List(&blob.ListOptions{Prefix: "p/"}); ; objects++ {
				if _, err := it.Next(t.Context()); err != nil {
					break
				}
			}
			if objects != 2*len(all) {
				t.Errorf("%d objects of %d profiles", objects, len(all))
			}
			p := all["cpu"]
			key, is := strings.CutPrefix(e.URL(p), "s3://profiles/")
			if want := "p/-shop--web/" + p.Start.UTC().Format("2006/01/02") + "/profguard-1.cpu.pb.gz"; !is || key != want {
				t.Errorf("key %q, want %q", key, want)
			}
			data, err := store.ReadAll(t.Context(), key)
			if err != nil || !slices.Equal(data, p.Data) {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			var about bucket.Description
			text, err := store.ReadAll(t.Context(), strings.TrimSuffix(key, "pb.gz")+"json")
			if err != nil || json.Unmarshal(text, &about) != nil || about.Budget != "hot" || !about.Start.Equal(p.Start) || !maps.Equal(about.Attributes, p.Attributes) {
				t.Errorf("%s, %v", text, err)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			if err := e.Export(t.Context(), p); err == nil || errors.Is(err, guard.ErrPermanent) {
				t.Errorf("closed: %v", err)
			}
		})
	}
	again, err := blob.OpenBucket(t.Context(), "s3://profiles?region=us-east-1&use_path_style=true&disable_https=true&endpoint="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	down.Store(true)
	e := &bucket.Exporter{Bucket: again}
	if err := e.Export(t.Context(), taken(t)["cpu"]); err == nil || errors.Is(err, guard.ErrPermanent) {
		t.Errorf("the store is away: %v", err)
	}
	for _, none := range []*bucket.Exporter{nil, {}} {
		if err := none.Validate(); err == nil {
			t.Error("no bucket is valid")
		}
	}
	for base, want := range map[string]string{"s3://profiles": "s3://profiles/", "s3://profiles//": "s3://profiles/", "https://x/?object=": "https://x/?object=", "": ""} {
		at := (&bucket.Exporter{Base: base}).URL(taken(t)["cpu"])
		if key, is := strings.CutPrefix(at, want); !is || strings.HasPrefix(key, "/") || base == "" && at != "" {
			t.Errorf("below %q it is at %q", base, at)
		}
	}
}
