package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPathsOfTheRepository: wherever and however a program was compiled, its files have their paths in the
// repository, and what is not in it stays as it is.
func TestPathsOfTheRepository(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"go.mod", "main.go", "cart/cart.go", "tools/go.mod", "tools/cmd/gen/main.go", "http/server.go"} {
		text := "package p\n"
		switch file {
		case "go.mod":
			text = "// the shop\nmodule example.com/shop // v1\n\ngo 1.26\n"
		case "tools/go.mod":
			text = "module \"example.com/shop/tools\"\n"
		}
		at := filepath.Join(root, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	const cart, std = "example.com/shop/cart.Add", "net/http.(*conn).serve"
	for _, tt := range []struct{ function, file, want string }{
		{cart, root + "/cart/cart.go", "cart/cart.go"},
		{cart, "example.com/shop/cart/cart.go", "cart/cart.go"},
		{cart, "example.com/shop@v1.2.3/cart/cart.go", "cart/cart.go"},
		{cart, "/build/src/cart/cart.go", "cart/cart.go"},
		{cart, `C:\build\cart\cart.go`, "cart/cart.go"},
		{cart, "/build/src/cart/gone.go", "/build/src/cart/gone.go"},
		{"main.main", "/build/src/main.go", "main.go"},
		{"main.gen", "/build/src/tools/cmd/gen/main.go", "tools/cmd/gen/main.go"},
		{"main.gen", "example.com/shop/tools/cmd/gen/main.go", "tools/cmd/gen/main.go"},
		{"main.gone", "/build/src/gone.go", "/build/src/gone.go"},
		{std, "/usr/local/go/src/net/http/server.go", "/usr/local/go/src/net/http/server.go"},
		{std, "net/http/server.go", "net/http/server.go"},
		{"example.com/shopping/cart.Add", "example.com/shopping/cart/cart.go", "example.com/shopping/cart/cart.go"},
		{"main.f", "/build/../../../etc/passwd", "/build/../../../etc/passwd"},
		{"f", "", ""},
	} {
		for _, from := range []string{root, filepath.Join(root, "tools", "cmd")} {
			w := worktreeAt(from)
			if got := w.relative(tt.function, tt.file); got != tt.want {
				t.Errorf("%s at %s, seen from %s: %q, want %q", tt.function, tt.file, from, got, tt.want)
			}
		}
	}
	if w := worktreeAt(root); w.has("../"+filepath.Base(root)+"/main.go") || w.has("cart") || !w.has("cart/cart.go") {
		t.Error("has: expected the files below the root, and no others")
	}
	if w := new(worktree); w.relative(cart, "/build/cart/cart.go") != "/build/cart/cart.go" || w.has("main.go") {
		t.Error("without a repository there are paths of one")
	}
}
