package decode

import (
	"errors"
	"maps"
	"testing"
)

// TestPack: what is packed is the same table, but for the order of its samples, also when that is written or packed again.
func TestPack(t *testing.T) {
	files := fixtures(t)
	maps.Copy(files, live(t))
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			table, err := new(Decoder).Bytes(data)
			if err != nil {
				t.Fatal(err)
			}
			want := bySample(viewOfTable(table))
			p := table.Pack()
			if p.Count() != table.Count() {
				t.Errorf("%d samples, want %d", p.Count(), table.Count())
			}
			for range 2 {
				if diff := diffOf(want, bySample(viewOfTable(p.Table()))); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				p = p.Table().Pack()
			}
			var m, whole Merger // a profile may have a stack twice
			if err := errors.Join(m.Add(p.Table()), whole.Add(table)); err != nil {
				t.Fatal(err)
			}
			if diff := diffOf(bySample(viewOfTable(whole.Table())), bySample(viewOfTable(m.Table()))); diff != "" {
				t.Errorf("merged, -want +got:\n%s", diff)
			}
		})
	}
}
