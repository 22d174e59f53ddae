// Command size prints how large a minimal service is, stripped, and what each part
// adds to it: client_golang, profguard's Start, its debug page.
//
//	cd internal/peerbench && go run ./size
//
// It exits with 1 if profguard adds more than the limit to a service with client_golang.
// The largest parts of what it adds that are not its own: runtime/pprof 0.20 MB,
// OpenTelemetry's API 0.16, log/slog 0.09, the decoder of encoding/json 0.06, os.Root 0.05.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// limit is what a guard with its page may add, in bytes: 2% above what it adds today,
// for new versions of Go and of the libraries.
const limit = 2_350_000

const host = "github.com/profguard/profguard/internal/peerbench/size/host"

func main() {
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func measure() error {
	dir, err := os.MkdirTemp("", "size-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var client, last int64
	for _, part := range []struct{ name, tags string }{
		{"net/http", "none"},
		{"+ client_golang", "client"},
		{"+ guard.Start", "client,guard"},
		{"+ Handler", "client,guard,handler"},
	} {
		size, err := build(filepath.Join(dir, "host"), part.tags)
		if err != nil {
			return err
		}
		fmt.Printf("%-16s %6.2f MB", part.name, float64(size)/1e6)
		if last > 0 {
			fmt.Printf("  +%.2f MB", float64(size-last)/1e6)
		}
		fmt.Println()
		if last = size; part.tags == "client" {
			client = size
		}
	}
	grown := last - client
	fmt.Printf("%-16s %6.2f MB, limit %.2f MB\n", "profguard", float64(grown)/1e6, float64(limit)/1e6)
	if grown > limit {
		return fmt.Errorf("profguard adds %d bytes, at most %d are promised", grown, limit)
	}
	return nil
}

// build builds the host with build tags, as a release is built, and returns its size.
func build(file, tags string) (int64, error) {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-tags", tags, "-o", file, host)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build %s, in a folder of its module: %w\n%s", host, err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
