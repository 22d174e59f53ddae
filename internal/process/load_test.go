package process

import (
	"runtime"
	"testing"
	"time"
)

func TestLoadOf(t *testing.T) {
	for line, want := range map[string]Load{
		"cpu  1000 100 500 8000 200 50 50 100 7 7": {Used: 17, Stolen: 1, Total: 100},
		"cpu  1000 100 500 8000 200 50 50 100":     {Used: 17, Stolen: 1, Total: 100},
		"cpu  1000 100 500 8000":                   {}, // of a kernel before 2.6
		"cpu  1000 100 500 8000 200 50 50 x":       {},
		"cpu0 1000 100 500 8000 200 50 50 100":     {},
		"":                                         {},
	} {
		if got := loadOf(line); got != want {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

// TestReadLoad: what is used here is seen.
func TestReadLoad(t *testing.T) {
	before := ReadLoad()
	if runtime.GOOS != "linux" {
		if before.Total != 0 {
			t.Errorf("%+v", before)
		}
		return
	}
	if before.Total == 0 {
		t.Skip("the kernel does not say what its processors do")
	}
	for began := ProcessCPU(); ProcessCPU()-began < 100*time.Millisecond; {
		continue
	}
	if now := ReadLoad(); now.Used-before.Used < 0.05 || now.Total <= before.Total {
		t.Errorf("from %+v to %+v", before, now)
	}
}
