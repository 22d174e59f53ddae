package reference

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/release"
)

// busy is a window of a service with ten handlers, whose doors lead to ever new stacks: half of what comes was
// not there before, as in recorded services. dear are hits of a further function of each handler.
func busy(r *rand.Rand, samples, dear int) string {
	var b strings.Builder
	b.WriteString("cpu 10s\n")
	for range samples {
		handler := r.IntN(10)
		fmt.Fprintf(&b, "net/http.(*conn).serve;net/http.serverHandler.ServeHTTP;net/http.HandlerFunc.ServeHTTP;main.handle%d@h.go:%d;main.answer@h.go:%d;%s@encode.go:1", handler, r.IntN(20), r.IntN(20), doors[r.IntN(len(doors))])
		for range 10 {
			fmt.Fprintf(&b, ";encoding/json.step%d@e.go:%d", r.IntN(20), r.IntN(100))
		}
		b.WriteString(";runtime.mallocgc@malloc.go:7 1\n")
	}
	for range dear {
		fmt.Fprintf(&b, "net/http.(*conn).serve;net/http.serverHandler.ServeHTTP;net/http.HandlerFunc.ServeHTTP;main.handle%d@h.go:%d;main.audit@a.go:8;regexp.MustCompile;regexp/syntax.step%d 1\n", r.IntN(10), r.IntN(20), r.IntN(50))
	}
	return b.String()
}

var doors = []string{"encoding/json.Marshal", "encoding/json.Unmarshal", "sort.Slice", "fmt.Fprintf", "strings.ToLower", "compress/gzip.(*Writer).Write", "crypto/sha256.Sum256"}

// A service with ever new stacks is compared by its functions also after a day: what is given up first is
// what functions call beyond where they are charged.
func TestEndedStacks(t *testing.T) {
	sum := func(seed uint64, windows, dear int) *release.Side {
		r, s := rand.New(rand.NewPCG(seed, 1)), &Sum{Module: "main"}
		for range windows {
			if err := s.Add(t.Context(), table(t, busy(r, 500, dear)), window(5*float64(500+dear)/500, 100)); err != nil {
				t.Fatal(err)
			}
		}
		b := Encode(s.Side(), time.Now())
		side, err := Decode(new(decode.Decoder), b)
		if err != nil || len(b) > 200<<10 {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		side.Module = "main"
		return side
	}
	day, minutes := sum(1, 100, 0), sum(2, 4, 0)
	if !day.Ended || day.Depth != 0 || minutes.Ended {
		t.Fatalf("after 100 windows: ended %v, %d locations; after 4: %v", day.Ended, day.Depth, minutes.Ended)
	}
	for name, tt := range map[string]struct {
		now  *release.Side
		want string
	}{
		"equal, of a day":      {sum(3, 100, 0), ""},
		"equal, of minutes":    {minutes, ""},
		"dearer, of a day":     {sum(4, 100, 60), "main.audit"},
		"dearer, of minutes":   {sum(5, 10, 60), "main.audit"},
		"the other way, equal": {day, ""},
	} {
		before := day
		if tt.now == day {
			before = minutes
		}
		for _, per := range []string{"request", ""} {
			c, err := release.Compare(t.Context(), before, tt.now, release.Options{Per: per})
			if err != nil {
				t.Fatal(err)
			}
			more, less, moved := c.Lists()
			if tt.want == "" && len(more)+len(less)+len(moved) > 0 || tt.want != "" && (len(more) == 0 || more[0].Name != "regexp.MustCompile" && more[0].Name != tt.want) {
				t.Errorf("%s, per %q: %s", name, per, c.Balance())
			}
			if tt.want != "" && len(more) > 0 && more[0].Blame.Line == 0 {
				t.Errorf("%s, per %q: no line of %+v", name, per, more[0])
			}
		}
	}
}

// What ends in the functions that it is charged to is charged to the same ones as before.
func TestEndedChargesTheSame(t *testing.T) {
	for file, module := range map[string]string{"../decode/testdata/window-go1.26.pb.gz": "", "../decode/testdata/window-go1.27.pb.gz": ""} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := new(decode.Decoder).Bytes(data)
		if err != nil {
			t.Fatal(err)
		}
		s := &Sum{Module: module}
		ended, err := release.Ended(t.Context(), s.sideOf(whole))
		if err != nil {
			t.Fatal(err)
		}
		before, n, err := s.sideOf(whole).Charged(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		after, left, err := s.sideOf(ended).Charged(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" || n != left || ended.Frames >= whole.Frames {
			t.Errorf("%s, %d frames, %d before, -before +after\n%s", file, ended.Frames, whole.Frames, diff)
		}
	}
}
