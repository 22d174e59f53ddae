package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// spy is a test that fails in secret.
type spy struct {
	testing.TB
	said string
}

func (s *spy) Helper()                      {}
func (s *spy) Errorf(f string, args ...any) { s.said += fmt.Sprintf(f, args...) }
func (s *spy) Fatal(args ...any)            { s.said += fmt.Sprint(args...); runtime.Goexit() }
func (s *spy) Fatalf(f string, args ...any) {
	s.Errorf(f, args...)
	runtime.Goexit()
}

func TestCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	defer func(was bool) { *update = was }(*update)
	compare := func(rewrite bool, text string) string {
		*update = rewrite
		s := &spy{TB: t}
		done := make(chan bool)
		go func() {
			defer close(done)
			Compare(s, "x.txt", text)
		}()
		<-done
		return s.said
	}
	if said := compare(false, "one\n"); !strings.Contains(said, "run the test with -update") {
		t.Errorf("without a file: %q", said)
	}
	if said := compare(true, "one\n"); said != "" {
		t.Errorf("with -update: %q", said)
	}
	if text, err := os.ReadFile(filepath.Join("testdata", "x.txt")); err != nil || string(text) != "one\n" {
		t.Errorf("written: %q, %v", text, err)
	}
	if said := compare(false, "one\n"); said != "" {
		t.Errorf("the same text: %q", said)
	}
	if said := compare(false, "two\n"); !strings.Contains(said, "x.txt is out of date") || !strings.Contains(said, "two") {
		t.Errorf("another text: %q", said)
	}
}
