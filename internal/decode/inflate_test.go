package decode

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// contents are what is compressed in the tests.
func contents(t testing.TB) map[string][]byte {
	random := rand.New(rand.NewSource(1))
	noise := make([]byte, 100_000)
	random.Read(noise)
	// Frequencies of a Fibonacci sequence make codes of all sizes up to the largest.
	var skewed []byte
	for symbol, a, b := 0, 1, 1; symbol < 24; symbol, a, b = symbol+1, b, a+b {
		skewed = append(skewed, bytes.Repeat([]byte{byte(symbol)}, a)...)
	}
	random.Shuffle(len(skewed), func(i, j int) { skewed[i], skewed[j] = skewed[j], skewed[i] })
	all := map[string][]byte{
		"noise":             noise,
		"one byte":          []byte("x"),
		"the same":          bytes.Repeat([]byte{7}, 70_000),
		"skewed":            skewed,
		"profile":           synthetic(300, 500, 30),
		"profile and noise": slices.Concat(synthetic(100, 100, 10), noise, synthetic(100, 100, 10)),
	}
	for name, b := range fixtures(t) {
		if isGzip(b) {
			b = gunzipped(t, b)
		}
		all[name] = b
	}
	return all
}

// deflated is b compressed as a stream without header and trailer.
func deflated(t testing.TB, b []byte, level int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, level)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, w, b)
	return out.Bytes()
}

// TestInflate holds the inflater against what was compressed, at all levels. It leaves blocks
// with fixed codes, and content that is not compressed, to compress/gzip.
func TestInflate(t *testing.T) {
	var f inflater
	for name, content := range contents(t) {
		for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
			b := deflated(t, content, level)
			buf := make([]byte, len(content))
			n, ok := f.blocks(buf, &bitReader{b: b})
			if ok && !bytes.Equal(buf[:n], content) {
				t.Errorf("%s, level %d: %d bytes, and not those of %d", name, level, n, len(content))
			}
			if usual := len(content) > 100 && level != flate.NoCompression && !strings.Contains(name, "noise"); usual && !ok {
				t.Errorf("%s, level %d: not inflated", name, level)
			}
			if _, ok := f.blocks(buf[:len(buf)-1], &bitReader{b: b}); ok {
				t.Errorf("%s, level %d: inflated into a buffer that is too small", name, level)
			}
		}
	}
}

// TestInflateProfiles: profiles as programs write them need no compress/gzip, unless they are
// almost empty.
func TestInflateProfiles(t *testing.T) {
	var f inflater
	for name, b := range fixtures(t) {
		if !isGzip(b) {
			continue
		}
		for _, form := range []string{"as written", "samples first"} {
			b := encodings(t, b)[form]
			want := gunzipped(t, b)
			if len(want) < 100 {
				continue
			}
			buf := make([]byte, len(want)+1)
			if n, ok := f.gunzip(buf, b); !ok || !bytes.Equal(buf[:n], want) {
				t.Errorf("%s, %s: %d bytes, %t", name, form, n, ok)
			}
		}
	}
}

// TestInflateDamaged: a file that is cut, or has a bit changed, is not inflated. On the
// header's time and system, and the bits before the size of the empty block, nothing depends.
func TestInflateDamaged(t *testing.T) {
	content := synthetic(20, 30, 10)
	whole := gzipped(t, content)
	buf := make([]byte, 2*len(content))
	var f inflater
	for n := range whole {
		if _, ok := f.gunzip(buf, whole[:n]); ok {
			t.Errorf("cut after %d bytes: inflated", n)
		}
	}
	for i := 2; i < len(whole); i++ { // who calls gunzip has looked at the first two
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			n, ok := f.gunzip(buf, b)
			if unused := 4 <= i && i < 10 || i == len(whole)-13; ok && (!unused || !bytes.Equal(buf[:n], content)) {
				t.Errorf("bit %d of byte %d changed: %d bytes", bit, i, n)
			}
		}
	}
	for what, b := range map[string][]byte{
		"garbage after it":      append(bytes.Clone(whole), 0),
		"another member":        append(bytes.Clone(whole), whole...),
		"a name":                gzippedNamed(t, content),
		"garbage in its middle": slices.Concat(whole[:len(whole)-8], []byte{1}, whole[len(whole)-8:]),
	} {
		if _, ok := f.gunzip(buf, b); ok {
			t.Errorf("a file with %s: inflated", what)
		}
	}
}

// TestGzipMembers: a file of several members is refused, also where the last one says the size
// of the first.
func TestGzipMembers(t *testing.T) {
	for _, members := range [][][]byte{{minimal(), minimal()}, {minimal()[:9], nil, minimal()[9:]}, {minimal(), {1}}} {
		var file []byte
		for _, part := range members {
			file = append(file, gzipped(t, part)...)
		}
		if _, err := new(Decoder).Bytes(file); err == nil || !strings.Contains(err.Error(), "expected one member") {
			t.Errorf("%d members: %v", len(members), err)
		}
	}
}

// FuzzInflate: what the inflater makes of a stream, compress/flate does, too. The stream has
// no checksum, which would hide a difference.
func FuzzInflate(f *testing.F) {
	for _, content := range contents(f) {
		for _, level := range []int{flate.HuffmanOnly, flate.BestSpeed, flate.DefaultCompression} {
			f.Add(deflated(f, content[:min(len(content), 5000)], level))
		}
	}
	var ours inflater
	buf := make([]byte, 64<<10)
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bitReader{b: b}
		n, ok := ours.blocks(buf, &in)
		if !ok {
			return
		}
		source := bytes.NewReader(b)
		if theirs, err := io.ReadAll(flate.NewReader(source)); err != nil || !bytes.Equal(buf[:n], theirs) {
			t.Fatalf("%d bytes; compress/flate %d bytes, %v", n, len(theirs), err)
		}
		if source.Len() != in.left()/8 {
			t.Errorf("%d bytes are left, by compress/flate %d", in.left()/8, source.Len())
		}
	})
}
