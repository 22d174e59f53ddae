package dumps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"

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
