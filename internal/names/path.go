package names

import (
	"net/url"
	"strings"
)

// CanonicalPath is an import path without the linker's escapes and vendor directories:
// gopkg.in/yaml.v3 for gopkg.in/yaml%2ev3, and b for a/vendor/b. A path with anything else
// behind a % stays.
func CanonicalPath(pkg string) string {
	pkg = unvendored(pkg)
	if plain, err := url.PathUnescape(pkg); err == nil {
		return plain
	}
	return pkg
}

// unvendored is an import path without vendor directories.
func unvendored(pkg string) string {
	if i := strings.LastIndex(pkg, "/vendor/"); i >= 0 {
		pkg = pkg[i+1:]
	}
	return strings.TrimPrefix(pkg, "vendor/")
}

// LastNames returns the names of a package in one word: its last element; without a major
// version; and without the "go" that repositories have in their names and packages have not.
// x/portlist/v2 is v2 and portlist, gopkg.in/yaml.v3 is yaml.v3 and yaml, x/nats.go is nats.go
// and nats, x/go-redis/v9 is v9, go-redis and redis. Names may be equal.
func LastNames(pkg string) [3]string {
	slash := strings.LastIndexByte(pkg, '/')
	last := pkg[slash+1:]
	plain := last
	if name, version, ok := strings.Cut(last, ".v"); ok && isNumber(version) {
		plain = name
	}
	// The go command appends versions from 2 on; a package v1 is called so.
	if version, ok := strings.CutPrefix(last, "v"); ok && slash > 0 && isNumber(version) && version != "0" && version != "1" {
		plain = pkg[strings.LastIndexByte(pkg[:slash], '/')+1 : slash]
	}
	bare := strings.TrimPrefix(plain, "go-")
	bare = strings.TrimSuffix(strings.TrimSuffix(bare, "-go"), ".go")
	return [3]string{last, plain, bare}
}
