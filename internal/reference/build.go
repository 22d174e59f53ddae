package reference

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/release"
)

// headBytes is how much of the executable tells it from others: its first pages have the build id that
// the linker made of all of it.
const headBytes = 64 << 10

// ThisBuild is the running program. It reads the first pages of the executable once.
var ThisBuild = sync.OnceValue(func() release.Build {
	info, known := debug.ReadBuildInfo()
	if !known {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	sum := sha256.New()
	sum.Write([]byte(info.String()))
	if f, err := process.OpenExecutable(); err == nil {
		defer f.Close()
		_, _ = io.Copy(sum, io.LimitReader(f, headBytes)) // what can be read tells builds apart
		if at, err := f.Seek(0, io.SeekEnd); err == nil {
			sum.Write([]byte(strconv.FormatInt(at, 10)))
		}
	}
	b := BuildOf(info)
	b.Arch, b.Binary = runtime.GOOS+"/"+runtime.GOARCH, hex.EncodeToString(sum.Sum(nil))[:16]
	return b
})

// BuildOf is what the linker has written of a build. It says nothing of the machine and the binary.
func BuildOf(info *debug.BuildInfo) release.Build {
	b := release.Build{Program: strings.TrimSuffix(info.Path, ".test"), Version: info.Main.Version, Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
