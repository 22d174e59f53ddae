package process

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

// A Build is what an executable says of itself: see release.Build.
type Build struct {
	Program, Version, Revision string
	Modified                   bool
	Go, Arch, Binary           string
}

// headBytes is how much of the executable tells it from others: its first pages have the build id that
// the linker made of all of it.
const headBytes = 64 << 10

// ThisBuild is the running program. It reads the first pages of the executable once.
var ThisBuild = sync.OnceValue(func() Build {
	b := Build{Go: runtime.Version(), Arch: runtime.GOOS + "/" + runtime.GOARCH}
	sum := sha256.New()
	if info, known := debug.ReadBuildInfo(); known {
		b.Program, b.Version = strings.TrimSuffix(info.Path, ".test"), info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
		sum.Write([]byte(info.String()))
	}
	if f, err := openExecutable(); err == nil {
		defer f.Close()
		_, _ = io.Copy(sum, io.LimitReader(f, headBytes)) // what can be read tells builds apart
		if at, err := f.Seek(0, io.SeekEnd); err == nil {
			sum.Write([]byte(strconv.FormatInt(at, 10)))
		}
	}
	b.Binary = hex.EncodeToString(sum.Sum(nil))[:16]
	return b
})

// IsTest reports whether the program is one that go test has built.
func IsTest() bool { return isTest(arguments) }

func isTest(args []string) bool {
	if len(args) == 0 {
		return false
	}
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if strings.HasSuffix(name, ".test") {
		return true
	}
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "-test.") || strings.HasPrefix(arg, "--test.") {
			return true
		}
	}
	return false
}
