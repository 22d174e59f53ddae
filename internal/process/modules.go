package process

import (
	"runtime/debug"
	"sync"
)

// Modules are the paths of the modules that are linked into the program beside its own. There
// are none in a program that was built without modules.
var Modules = sync.OnceValue(func() (paths []string) {
	if info, known := debug.ReadBuildInfo(); known {
		for _, m := range info.Deps {
			paths = append(paths, m.Path)
		}
	}
	return paths
})
