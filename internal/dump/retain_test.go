package dump

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// dumpSpec writes entries down briefly.
type dumpSpec struct {
	who          string // a: us, b: another
	minute       int
	violation    string
	first, worst bool
	size         int64
}

func (d dumpSpec) entry() *entry {
	at := start.Add(time.Duration(d.minute) * time.Minute)
	if d.size == 0 {
		d.size = 10
	}
	n := name{time: at, slug: "s", instance: d.who, random: fmt.Sprint(d.minute)}
	return &entry{id: ID(fmt.Sprintf("%s%d", d.who, d.minute)), name: n, saved: at, size: d.size,
		violation: d.violation, first: d.first, worst: d.worst}
}

func TestChoose(t *testing.T) {
	plain := func(who string, minute int) dumpSpec { return dumpSpec{who: who, minute: minute} }
	v := func(minute int, violation string, first, worst bool) dumpSpec {
		return dumpSpec{who: "a", minute: minute, violation: violation, first: first, worst: worst}
	}
	for _, tt := range []struct {
		name string
		have []dumpSpec
		live []string
		add  *dumpSpec
		keep Keep
		want []string
		ok   bool
	}{
		{"room", []dumpSpec{plain("a", 1)}, nil, new(plain("a", 2)), Keep{Files: 2}, nil, true},
		{"oldest goes", []dumpSpec{plain("a", 2), plain("a", 1)}, nil, new(plain("a", 3)), Keep{Files: 2}, []string{"a1"}, true},
		{"the dead go first", []dumpSpec{plain("a", 1), plain("b", 2)}, nil, new(plain("a", 3)), Keep{Files: 2}, []string{"b2"}, true},
		{"bytes", []dumpSpec{plain("a", 1), plain("a", 2), plain("a", 3)}, nil, &dumpSpec{who: "a", minute: 4, size: 15},
			Keep{Bytes: 30}, []string{"a1", "a2"}, true},
		{"too large for ever", []dumpSpec{plain("a", 1)}, nil, &dumpSpec{who: "a", minute: 4, size: 31}, Keep{Bytes: 30}, []string{"a1"}, false},
		{"the living stay", []dumpSpec{plain("b", 1), plain("b", 2)}, []string{"b"}, new(plain("a", 3)), Keep{Files: 2}, nil, false},
		{"first and worst stay", []dumpSpec{v(1, "x", true, true), v(2, "x", false, true), v(3, "x", false, false)}, nil,
			new(v(4, "x", false, false)), Keep{Files: 3}, []string{"a3"}, true},
		{"a worst that was beaten goes", []dumpSpec{v(1, "x", true, true), v(2, "x", false, true), v(3, "x", false, false)}, nil,
			new(v(4, "x", false, true)), Keep{Files: 3}, []string{"a2"}, true},
		{"first and worst do not yield to the ordinary", []dumpSpec{v(1, "x", true, true), v(2, "x", false, true)}, nil,
			new(v(4, "x", false, false)), Keep{Files: 2}, nil, false},
		{"past violations go after the ordinary", []dumpSpec{v(1, "w", true, true), v(2, "x", true, true), v(3, "x", false, false)}, nil,
			new(v(4, "x", false, false)), Keep{Files: 3}, []string{"a3"}, true},
		{"past violations go before the current", []dumpSpec{v(1, "w", true, true), v(2, "x", true, true)}, nil,
			new(v(4, "x", false, true)), Keep{Files: 2}, []string{"a1"}, true},
		{"a new violation makes the old one past", []dumpSpec{v(1, "w", true, true)}, nil,
			new(v(4, "x", true, true)), Keep{Files: 1}, []string{"a1"}, true},
		{"bytes move a first for a worst", []dumpSpec{v(1, "x", true, true), v(2, "x", false, true)}, nil,
			&dumpSpec{who: "a", minute: 3, violation: "x", worst: true, size: 25}, Keep{Bytes: 30}, []string{"a2", "a1"}, true},
		{"above its share, room for others", []dumpSpec{plain("a", 1), plain("a", 2), plain("a", 3), plain("a", 4), plain("a", 5), plain("a", 6), plain("a", 7), plain("a", 8)},
			[]string{"b"}, nil, Keep{Files: 8}, []string{"a1"}, true},
		{"at its share, nothing to give", []dumpSpec{plain("a", 1), plain("a", 2), plain("b", 3), plain("b", 4)}, []string{"b"}, nil, Keep{Files: 4}, nil, true},
		{"at its share, its own goes", []dumpSpec{plain("a", 1), plain("a", 2), plain("b", 3), plain("b", 4)}, []string{"b"},
			new(plain("a", 5)), Keep{Files: 4}, []string{"a1"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keep, err := tt.keep.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			x := &index{entries: map[ID]*entry{}, live: map[string]bool{}}
			for _, d := range tt.have {
				x.add(d.entry())
			}
			for _, l := range tt.live {
				x.live[l] = true
			}
			var add *entry
			if tt.add != nil {
				add = tt.add.entry()
			}
			victims, ok := x.choose("a", keep, add)
			var got []string
			for _, e := range victims {
				got = append(got, string(e.id))
			}
			if diff := cmp.Diff(tt.want, got); ok != tt.ok || (tt.ok && diff != "") {
				t.Errorf("ok = %v, want %v; victims -want +got:\n%s", ok, tt.ok, diff)
			}
		})
	}
}

func TestRetentionOfAViolation(t *testing.T) {
	s, _ := openTest(t, newDir(t), Keep{Files: 4, Interval: 1, Free: 1e-12}, nil)
	var ids []ID
	for _, severity := range []float64{2, 9, 3, 4, 5, 6, 7} {
		ids = append(ids, mustSave(t, s, testDump("b").of("v1", severity)))
	}
	want := map[ID]bool{ids[0]: true, ids[1]: true, ids[5]: true, ids[6]: true}
	if diff := cmp.Diff(want, listIDs(t, s)); diff != "" {
		t.Errorf("first, worst and the two newest should be kept:\n%s", diff)
	}
	infos, _ := s.List()
	slices.SortFunc(infos, func(a, b Info) int { return a.Time.Compare(b.Time) })
	var flags [][2]bool
	for _, i := range infos {
		flags = append(flags, [2]bool{i.Sidecar.First, i.Sidecar.Worst})
	}
	if diff := cmp.Diff([][2]bool{{true, true}, {false, true}, {}, {}}, flags); diff != "" {
		t.Errorf("first, worst:\n%s", diff)
	}
	if u := s.Usage(); u.Files != 4 || u.Bytes <= 0 {
		t.Errorf("usage %+v", u)
	}
	assertClean(t, s.Dir(), 1) // and companions went with their dumps
}
