package dumps

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// unsent lists the kinds of what a store has not sent.
func unsent(t *testing.T, s *Store) (kinds []string) {
	t.Helper()
	found, err := s.Unsent(100)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range found {
		kinds = append(kinds, u[strings.LastIndexByte(u, '.')+1:])
	}
	slices.Sort(kinds)
	return kinds
}

// offered offers a dump, and waits until it is saved.
func offered(t *testing.T, s *Store, saved chan Outcome, d Dump) ID {
	t.Helper()
	id, err := s.Offer(d)
	if err != nil {
		t.Fatal(err)
	}
	if o := <-saved; o.Err != nil {
		t.Fatal(o.Err)
	}
	return id
}

func twoProfiles() Dump {
	d := testDump("b")
	d.Files = []File{{"cpu.pb.gz", gz(100)}, {"goroutine.pb.gz", gz(100)}, {"trace.out", []byte("t")}, {DescriptionFile, []byte("shop")}}
	return d
}

// What was sent is not sent again, neither by this process nor by the next one.
func TestSent(t *testing.T) {
	dir, saved := newDir(t), make(chan Outcome, 1)
	s := openRunning(t, dir, testKeep, nil, func(o Outcome) { saved <- o })
	id := offered(t, s, saved, twoProfiles())
	if got := unsent(t, s); !slices.Equal(got, []string{"cpu", "goroutine"}) {
		t.Errorf("before: %v", got)
	}
	s.Sent(string(id)+".cpu", false)
	if data, _, err := s.ReadUnsent(string(id) + ".cpu"); data != nil || err != nil {
		t.Errorf("it is read again: %d bytes, %v", len(data), err)
	}
	if got := unsent(t, s); !slices.Equal(got, []string{"goroutine"}) {
		t.Errorf("after: %v", got)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	next, clock := openTest(t, dir, testKeep, nil)
	found, err := next.Unsent(100)
	if err != nil || len(found) != 1 || found[0] != string(id)+".goroutine" {
		t.Fatalf("the next process: %v, %v", found, err)
	}
	data, about, err := next.ReadUnsent(found[0])
	if err != nil || !slices.Equal(data, gz(100)) || string(about) != "shop" {
		t.Errorf("read: %d bytes, %q, %v", len(data), about, err)
	}
	// Receipts are no files of a dump for those who list it, and go with it.
	if list, total, err := next.List(10); err != nil || total != 1 || strings.Contains(string(list[0].Sidecar), sentExt) {
		t.Errorf("listed: %v, %v", list, err)
	}
	clock.advance(30 * 24 * time.Hour)
	if err := next.tidy(nil); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(inside(dir), "*", "*")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
}

// What was refused has another receipt, and does not leave again, unless somebody removes it.
func TestRefusedReceipt(t *testing.T) {
	dir, saved := newDir(t), make(chan Outcome, 1)
	s := openRunning(t, dir, testKeep, nil, func(o Outcome) { saved <- o })
	id := offered(t, s, saved, twoProfiles())
	s.Sent(string(id)+".cpu", true)
	s.Sent(string(id)+".goroutine", false)
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	receipts, err := filepath.Glob(filepath.Join(inside(dir), "*", "*.refused"))
	if err != nil || len(receipts) != 1 || !strings.HasSuffix(receipts[0], ".cpu.refused") {
		t.Fatalf("receipts %v, %v", receipts, err)
	}
	next, clock := openTest(t, dir, testKeep, nil)
	if data, _, err := next.ReadUnsent(string(id) + ".cpu"); len(unsent(t, next)) > 0 || data != nil || err != nil {
		t.Errorf("it leaves again: %v", err)
	}
	if err := os.Remove(receipts[0]); err != nil {
		t.Fatal(err)
	}
	if got := unsent(t, next); !slices.Equal(got, []string{"cpu"}) {
		t.Errorf("without the receipt: %v", got)
	}
	next.Sent(string(id)+".cpu", true)
	next.Flush(t.Context())
	clock.advance(30 * 24 * time.Hour)
	if err := next.tidy(nil); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(inside(dir), "*", "*")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
	if _, err := s.prepare(Dump{Files: []File{{"cpu.refused", nil}}}); err == nil || errors.Is(err, ErrLimit) {
		t.Errorf("a receipt as a file: %v", err)
	}
}

// A dump that is sent before it is saved has its receipt when it is saved.
func TestSentBeforeSaved(t *testing.T) {
	dir, saved := newDir(t), make(chan Outcome, 1)
	gate := make(chan struct{})
	s := openRunning(t, dir, testKeep, func(d disk) disk {
		return &faulty{disk: d, check: func(_ int, op string) error {
			if op == "create" {
				<-gate
			}
			return nil
		}}
	}, func(o Outcome) { saved <- o })
	id, err := s.Offer(twoProfiles())
	if err != nil {
		t.Fatal(err)
	}
	s.Sent(string(id)+".cpu", false)
	s.Sent(string(id)+".goroutine", false)
	close(gate)
	<-saved
	if got := unsent(t, s); len(got) > 0 {
		t.Errorf("unsent: %v", got)
	}
	s.Close(context.Background())
	next, _ := openTest(t, dir, testKeep, nil)
	if got := unsent(t, next); len(got) > 0 {
		t.Errorf("unsent for the next process: %v", got)
	}
}

// A receipt that cannot be written is remembered, and written later.
func TestReceiptFails(t *testing.T) {
	dir, saved := newDir(t), make(chan Outcome, 1)
	var full atomic.Bool
	s := openRunning(t, dir, testKeep, func(d disk) disk {
		return &faulty{disk: d, check: func(_ int, op string) error {
			if op == "create" && full.Load() {
				return ErrNoSpace
			}
			return nil
		}}
	}, func(o Outcome) { saved <- o })
	id := offered(t, s, saved, twoProfiles())
	full.Store(true)
	s.Sent(string(id)+".cpu", false)
	if got := unsent(t, s); !slices.Equal(got, []string{"goroutine"}) {
		t.Errorf("unsent: %v", got)
	}
	s.Flush(t.Context())
	full.Store(false)
	s.Close(context.Background())
	next, _ := openTest(t, dir, testKeep, nil)
	if got := unsent(t, next); !slices.Equal(got, []string{"goroutine"}) {
		t.Errorf("unsent for the next process: %v", got)
	}
}

// Flush returns when what waits is saved, with receipts, and with a disk that hangs when its time is up.
func TestFlush(t *testing.T) {
	dir, gate := newDir(t), make(chan struct{})
	var hangs atomic.Bool
	hangs.Store(true)
	s := openRunning(t, dir, testKeep, func(d disk) disk {
		return &faulty{disk: d, check: func(_ int, op string) error {
			if op == "create" && hangs.Load() {
				<-gate
			}
			return nil
		}}
	}, discard)
	id, err := s.Offer(twoProfiles())
	if err != nil {
		t.Fatal(err)
	}
	s.Sent(string(id)+".cpu", false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	s.Flush(ctx)
	hangs.Store(false)
	close(gate)
	for range 10 {
		if id, err = s.Offer(twoProfiles()); err != nil {
			t.Fatal(err)
		}
		s.Sent(string(id)+".cpu", false)
		s.Flush(t.Context())
		if _, err := os.Stat(filepath.Join(home(dir, s), fileName(id, "cpu.sent"))); err != nil {
			t.Fatal(err)
		}
	}
	s.Close(context.Background())
	s.Flush(context.Background()) // nothing waits for one that is closed
}

// What a running process has not sent is its own. What one that is gone has not sent is taken over
// by one process only.
func TestTakeOver(t *testing.T) {
	dir, saved := newDir(t), make(chan Outcome, 1)
	a := openRunning(t, dir, testKeep, nil, func(o Outcome) { saved <- o })
	offered(t, a, saved, twoProfiles())
	b, _ := openTest(t, dir, testKeep, nil)
	c, clock := openTest(t, dir, testKeep, nil)
	if got := unsent(t, b); len(got) > 0 {
		t.Errorf("of a running process: %v", got)
	}
	a.Close(context.Background())
	if got := unsent(t, b); len(got) != 2 {
		t.Errorf("of one that is gone: %v", got)
	}
	if got := unsent(t, c); len(got) > 0 {
		t.Errorf("the same again, by another process: %v", got)
	}
	if err := b.tidy(nil); err != nil {
		t.Fatal(err)
	}
	if n := len(own(t, b)); n != 1 {
		t.Errorf("of its caps it counts %d dumps", n)
	}
	b.Close(context.Background())
	if got := unsent(t, c); len(got) != 2 {
		t.Errorf("of one that has taken over and is gone: %v", got)
	}
	clock.advance(30 * 24 * time.Hour)
	if err := c.tidy(nil); err != nil {
		t.Fatal(err)
	}
	if err := c.tidy(nil); err != nil || len(c.taken) > 0 {
		t.Errorf("an empty folder is kept: %v, %v", c.taken, err)
	}
}

// What somebody has put into the folder is not read without bounds, and is no profile.
func TestUnsentHostile(t *testing.T) {
	dir := newDir(t)
	folder := filepath.Join(inside(dir), folderName("00000001"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	stem := "profguard-20201121T091500.123Z-b-00000001-00000002"
	for name, data := range map[string][]byte{
		stem + ".json":           []byte(`{"budget": 7, "attributes": {"a": "b"}}`),
		stem + ".export.out":     nil,
		stem + ".cpu.pb.gz":      make([]byte, maxProfile+1),
		stem + ".heap.pb.gz":     []byte("x"),
		stem + ".block.sent":     nil,
		"../" + stem + ".pb.gz":  nil,
		strings.Repeat("x", 200): nil,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := openTest(t, dir, Keep{Free: 1e-12, Age: 1 << 62}, nil)
	if got := unsent(t, s); !slices.Equal(got, []string{"cpu", "heap"}) {
		t.Errorf("unsent: %v", got)
	}
	found, _ := s.Unsent(1)
	if len(found) != 1 {
		t.Fatalf("%d of at most 1", len(found))
	}
	if _, _, err := s.ReadUnsent(found[0]); err == nil || !strings.Contains(err.Error(), "more than 16777216 bytes") {
		t.Errorf("too large: %v", err)
	}
	for _, profile := range []string{"../../etc/passwd", "", stem + ".json", stem + ".cpu.pb.gz/../x"} {
		if data, _, err := s.ReadUnsent(profile); err == nil && data != nil {
			t.Errorf("%q is read", profile)
		}
		s.Sent(profile, false) // which is forgotten
	}
	s.Flush(t.Context())
	if len(s.sent) > 0 {
		t.Errorf("receipts wait: %v", s.sent)
	}
	if _, err := s.prepare(Dump{Files: []File{{"cpu.sent", nil}}}); err == nil || errors.Is(err, ErrLimit) {
		t.Errorf("a receipt as a file: %v", err)
	}
}
