package decode

// A Source is a profile as its bytes, which are decoded when they are judged, or as a Table that
// was made of others, which is encoded when it leaves the process.
type Source struct {
	Data []byte // nobody may write to it
	Made *Table // valid for good
}

// IsEmpty reports whether there is no profile.
func (s Source) IsEmpty() bool { return len(s.Data) == 0 && s.Made == nil }

// Table is the profile. It is valid until the decoder's next call.
func (s Source) Table(d *Decoder) (*Table, error) {
	if s.Made != nil {
		return s.Made, nil
	}
	return d.Bytes(s.Data)
}

// Bytes is the profile in pprof's format, gzipped.
func (s Source) Bytes() []byte {
	if s.Made != nil {
		return s.Made.Encode()
	}
	return s.Data
}

// Keep returns a copy of a Table that is valid for good, with the names of the decoder's profiles
// and without what no sample needs. The decoder's last Table is not valid any more.
func (d *Decoder) Keep(t *Table) (*Table, error) {
	names := &d.build.t.Symbols
	*names = (*names).next(2*len(t.Funcs), len(t.text))
	sum := Merger{t: Table{Symbols: *names}}
	err := sum.Add(t)
	return sum.Table(), err
}
