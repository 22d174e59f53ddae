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
