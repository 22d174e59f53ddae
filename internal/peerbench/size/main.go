// Command size prints how large a minimal service is, stripped, and what each part
// adds to it: client_golang, profguard's Start, its debug page.
//
//	cd internal/peerbench && go run ./size
//
// It exits with 1 if profguard adds more than its limits to a service with client_golang.
// The largest parts of what it adds that are not its own: OpenTelemetry's API 0.22 MB,
// runtime/pprof 0.20, log/slog 0.09, klauspost/compress 0.06, os.Root 0.05, google/pprof/profile 0.03.
// A service with budgets of its own has the parser of sentences too, which is 0.06.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// What a guard may add, in bytes, without and with its page.
const (
	limitStart   = 2_620_000
	limitHandler = 2_750_000
)

const host = "github.com/profguard/profguard/internal/peerbench/size/host"

func main() {
	dir, err := os.MkdirTemp("", "size-")
	if err == nil {
		err = measure(dir)
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

// measure leaves each binary in the folder, with its tags as its name.
func measure(dir string) error {
	var client, last int64
	var errs []error
	for _, part := range []struct {
		name, tags string
		limit      int64 // over client_golang
	}{
		{"net/http", "none", 0},
		{"+ client_golang", "client", 0},
		{"+ guard.Start", "client,guard", limitStart},
		{"+ Handler", "client,guard,handler", limitHandler},
	} {
		size, err := build(filepath.Join(dir, part.tags), part.tags)
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
		if grown := size - client; part.limit > 0 && grown > part.limit {
			errs = append(errs, fmt.Errorf("%s: profguard adds %d bytes, at most %d are promised", part.name, grown, part.limit))
		}
	}
	fmt.Printf("%-16s %6.2f MB, limit %.2f MB\n", "profguard", float64(last-client)/1e6, limitHandler/1e6)
	return errors.Join(errs...)
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
