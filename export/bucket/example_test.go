package bucket_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // or s3blob, gcsblob, azureblob

	"github.com/profguard/profguard/export/bucket"
	"github.com/profguard/profguard/guard"
)

// The profiles of broken budgets go to a folder, as they would to "s3://profiles?region=eu-west-1".
func ExampleExporter() {
	dir, err := os.MkdirTemp("", "profiles")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	address := "file://" + filepath.ToSlash(dir)
	store, err := blob.OpenBucket(context.Background(), address+"?no_tmp_dir=true&metadata=skip")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close() // after Stop
	g, err := guard.Start(guard.Config{
		Export: guard.Export{To: &bucket.Exporter{Bucket: store, Base: address}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	fmt.Println(g.Status().State)
	// Output: running
}
