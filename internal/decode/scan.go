package decode

// counts are the numbers of objects in a profile.
type counts struct {
	types, samples, mappings, locations, functions, strings int

	frames int // location ids in all samples
	labels int // labels in all samples
	lines  int // lines in all locations, one for a location without any

	time uint64 // the last time seen
}

// Tags of the fields that matter, number<<3 | wire type, by message.
// https://github.com/google/pprof/blob/main/proto/profile.proto
const (
	profileType     = 1<<3 | wireBytes
	profileSample   = 2<<3 | wireBytes
	profileMapping  = 3<<3 | wireBytes
	profileLocation = 4<<3 | wireBytes
	profileFunction = 5<<3 | wireBytes
	profileString   = 6<<3 | wireBytes
	dropFrames      = 7<<3 | wireVarint
	keepFrames      = 8<<3 | wireVarint
	profileTime     = 9<<3 | wireVarint
	profileDuration = 10<<3 | wireVarint
	periodType      = 11<<3 | wireBytes
	profilePeriod   = 12<<3 | wireVarint
	comment         = 13<<3 | wireVarint
	commentPacked   = 13<<3 | wireBytes
	defaultType     = 14<<3 | wireVarint
	docURL          = 15<<3 | wireVarint

	sampleLocation       = 1<<3 | wireVarint
	sampleLocationPacked = 1<<3 | wireBytes
	sampleValue          = 2<<3 | wireVarint
	sampleValuePacked    = 2<<3 | wireBytes
	sampleLabel          = 3<<3 | wireBytes

	locationID      = 1<<3 | wireVarint
	locationMapping = 2<<3 | wireVarint
	locationAddress = 3<<3 | wireVarint
	locationLine    = 4<<3 | wireBytes
	locationFolded  = 5<<3 | wireVarint
)

// scan counts the objects. It allocates nothing and takes time in proportion to the length of
// b, whatever b holds, so memory can be allocated by its result. Within a broken message it
// counts up to the mistake, where the walk will stop too.
func scan(b []byte) (counts, error) {
	var c counts
	for i := 0; i < len(b); {
		tag, v, next := field(b, i)
		if next < 0 {
			return c, malformed("at byte %d: %s", i, wireError(next))
		}
		switch tag {
		case profileSample:
			c.samples++
			c.sample(b[next-int(v) : next])
		case profileLocation:
			c.locations++
			c.location(b[next-int(v) : next])
		case profileString:
			c.strings++
		case profileFunction:
			c.functions++
		case profileMapping:
			c.mappings++
		case profileType:
			c.types++
		case profileTime:
			// This is checked here, because later errors would be hard to understand.
			if c.time != 0 {
				return c, malformed("it is several profiles one after the other: merge them with `go tool pprof -proto`")
			}
			c.time = v
		}
		i = next
	}
	return c, nil
}

func (c *counts) sample(b []byte) {
	for i := 0; i < len(b); {
		tag, v, next := field(b, i)
		if next < 0 {
			return
		}
		switch tag {
		case sampleLocationPacked:
			c.frames += varints(b[next-int(v) : next])
		case sampleLocation:
			c.frames++
		case sampleLabel:
			c.labels++
		}
		i = next
	}
}

func (c *counts) location(b []byte) {
	lines := 0
	for i := 0; i >= 0 && i < len(b); {
		var tag uint64
		if tag, _, i = field(b, i); tag == locationLine {
			lines++
		}
	}
	c.lines += max(lines, 1)
}
