package bucket_test

import (
	"context"
	"log"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // or s3blob, gcsblob, azureblob

	"github.com/profguard/profguard/export/bucket"
	"github.com/profguard/profguard/guard"
)

// Dumps go to a folder, as they would to S3.
func Example() {
	store, err := blob.OpenBucket(context.Background(), "file:///var/lib/profiles?create_dir=true&no_tmp_dir=true&metadata=skip")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	g, err := guard.Start(guard.Config{Export: &bucket.Exporter{Bucket: store, Base: "file:///var/lib/profiles"}})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Stop() // before the bucket is closed
}
