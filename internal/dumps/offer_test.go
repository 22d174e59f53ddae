package dumps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// outcomes collects what a store reports.
type outcomes struct {
	mu   sync.Mutex
	list []Outcome
}

func (o *outcomes) report(out Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, out)
}

func TestOffer(t *testing.T) {
	dir := newDir(t)
	var got outcomes
	s := openRunning(t, dir, testKeep, nil, got.report)
	var want []Outcome
	for i := range queueLen {
		id, err := s.Offer(testDump(fmt.Sprint("b", i)))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, Outcome{ID: id})
	}
	if _, err := s.Offer(Dump{Files: []File{{Name: "/.pb.gz"}}}); err == nil {
		t.Errorf("an invalid dump was queued: %v", err)
	}
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(want, got.list); diff != "" {
		t.Errorf("Close did not write what was queued:\n%s", diff)
	}
	if _, err := s.Offer(testDump("late")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("offered after Close: %v", err)
	}
	assertClean(t, dir, queueLen)
}

func TestFailuresAreReported(t *testing.T) {
	var d1 *faulty
	reported := make(chan Outcome)
	s := openRunning(t, newDir(t), testKeep, func(d disk) disk { d1 = &faulty{disk: d}; return d1 },
		func(o Outcome) { reported <- o })
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	d1.arm(func(_ int, op string) error {
		if op == "rename" {
			panic("a bug of ours")
		}
		return nil
	})
	d1.volatile = true
	for _, tt := range []struct {
		check func(int, string) error
		want  string
	}{
		{d1.check, "other"},
		{nthCall(1, true, errors.ErrUnsupported), "other"},
		{nil, ""},
	} {
		d1.arm(tt.check)
		if _, err := s.Offer(testDump("b")); err != nil {
			t.Fatal(err)
		}
		if o := <-reported; Reason(o.Err) != tt.want {
			t.Errorf("outcome %v, want reason %q", o.Err, tt.want)
		}
	}
}

func TestFault_24_HungWrite(t *testing.T) {
	hung, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var d1 *faulty
	dir := newDir(t)
	var got outcomes
	s := openRunning(t, dir, testKeep, func(d disk) disk { d1 = &faulty{disk: d}; return d1 }, got.report)
	before := mustSave(t, s, testDump("before"))
	d1.arm(func(_ int, op string) error {
		if op == "write" {
			once.Do(func() {
				close(hung)
				<-release
			})
		}
		return nil
	})
	if _, err := s.Offer(testDump("hangs")); err != nil {
		t.Fatal(err)
	}
	<-hung
	for i := range queueLen {
		if _, err := s.Offer(testDump(fmt.Sprint("queued", i))); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := s.Offer(testDump("dropped")); Reason(err) != "dropped" {
			t.Errorf("the queue took more than it can hold: %v", err)
		}
	}
	if got := listIDs(t, s); !cmp.Equal(got, map[ID]bool{before: true}) { // reading goes on
		t.Errorf("list: %v", got)
	}
	if f, err := s.Open(before, fileName(before, "cpu.pb.gz")); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}

	gaveUp, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(gaveUp); !errors.Is(err, context.Canceled) {
		t.Errorf("Close of a hung writer: %v", err)
	}
	close(release)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, o := range got.list {
		if o.Err != nil {
			t.Errorf("%s: %v", o.ID, o.Err)
		}
	}
	if len(got.list) != 1+queueLen {
		t.Errorf("%d outcomes for %d accepted dumps", len(got.list), 1+queueLen)
	}
	assertClean(t, dir, 2+queueLen)
}

func TestCleansUp(t *testing.T) {
	dir := newDir(t)
	c := newClock()
	told := make(chan Outcome, 100)
	s, err := openReporting(dir, testKeep, c.now, randomHex, nil, func(o Outcome) { told <- o }, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Offer(testDump("b"))
	if o := <-told; err != nil || o.ID != id || o.Err != nil {
		t.Fatal(err, o)
	}
	c.advance(8 * 24 * time.Hour)
	if got := <-told; !slices.Equal(got.Removed, []ID{id}) {
		t.Errorf("reported as removed: %v, want %s", got, id)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*", "profguard-2*")); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

// TestGoneIsTold: whatever way a dump goes, its owner hears of it, once.
func TestGoneIsTold(t *testing.T) {
	tests := []struct {
		name string
		keep Keep
		dump func(i int) Dump
		do   func(t *testing.T, s *Store, c *clock, first ID)
		want []int // of three, from 0
	}{
		{name: "clean twin: there is room", keep: Keep{Files: 3, Free: 1e-12}},
		{name: "too many", keep: Keep{Files: 2, Free: 1e-12}, want: []int{0}},
		{name: "too many, but the first of a violation", keep: Keep{Files: 2, Free: 1e-12}, want: []int{1},
			dump: func(i int) Dump { return testDump("b").marked([]string{First, Worst, Worst}[i]) }},
		{name: "too old", keep: Keep{Age: time.Hour, Free: 1e-12}, want: []int{0, 1, 2},
			do: func(_ *testing.T, _ *Store, c *clock, _ ID) { c.advance(2 * time.Hour) }},
		{name: "deleted by a person, found when the index is old", want: []int{0},
			do: func(t *testing.T, s *Store, c *clock, first ID) {
				for _, suffix := range []string{sidecarSuffix, "cpu.pb.gz", "goroutine.pb.gz", "trace.out"} {
					if err := s.disk.remove(first.Folder() + "/" + fileName(first, suffix)); err != nil {
						t.Fatal(err)
					}
				}
				c.advance(2 * readAge)
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got outcomes
			saved := make(chan bool, 10)
			c := newClock()
			now := func() time.Time { c.advance(time.Second); return c.now() }
			s, err := openReporting(newDir(t), tt.keep, now, randomHex, nil, func(o Outcome) {
				got.report(o)
				saved <- true
			}, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			var ids []ID
			for i := range 3 {
				d := testDump("b")
				if tt.dump != nil {
					d = tt.dump(i)
				}
				id, err := s.Offer(d)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
				<-saved
			}
			if tt.do != nil {
				tt.do(t, s, c, ids[0])
			}
			if _, err := s.tidy(nil); err != nil {
				t.Error(err)
			}
			last := s.takeGone()
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			var want []ID
			gone := last
			for _, i := range tt.want {
				want = append(want, ids[i])
			}
			for _, o := range got.list {
				gone = append(gone, o.Removed...)
			}
			slices.Sort(gone)
			slices.Sort(want)
			if diff := cmp.Diff(want, gone); diff != "" {
				t.Errorf("gone (-want +got):\n%s", diff)
			}
		})
	}
}
