package reference

import (
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/release"
)

// ThisBuild is the running program.
func ThisBuild() release.Build { return release.Build(process.ThisBuild()) }
