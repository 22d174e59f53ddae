package decode

// counts is how many objects a profile holds.
type counts struct {
	types, samples, mappings, locations, functions, strings int

	frames     int // location ids in all samples
	labels     int // labels in all samples
	mostLabels int // labels in the sample that has the most
	lines      int // lines in all locations, one for a location without any

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
	profileTime     = 9<<3 | wireVarint

	sampleLocation       = 1<<3 | wireVarint
	sampleLocationPacked = 1<<3 | wireBytes
	sampleValue          = 2<<3 | wireVarint
	sampleValuePacked    = 2<<3 | wireBytes
	sampleLabel          = 3<<3 | wireBytes

	locationID      = 1<<3 | wireVarint
	locationMapping = 2<<3 | wireVarint
	locationLine    = 4<<3 | wireBytes
)

// scan counts. It allocates nothing and is linear in the length of b, whatever
// b holds: this is what makes it safe to allocate by its result. It looks no
// deeper than it must; the walk finds what is wrong inside.
func scan(b []byte) (counts, error) {
	var c counts
	for i := 0; i < len(b); {
		tag, v, next := field(b, i)
		if next < 0 {
			return c, malformed("at byte %s: %s", grouped(int64(i)), wireError(next))
		}
		pos := 0
		switch tag {
		case profileSample:
			c.samples++
			pos = c.sample(b[next-int(v) : next])
		case profileLocation:
			c.locations++
			pos = c.location(b[next-int(v) : next])
		case profileString:
			c.strings++
		case profileFunction:
			c.functions++
		case profileMapping:
			c.mappings++
		case profileType:
			c.types++
		case profileTime:
			// Noticed here, because the rest would show as errors hard to understand.
			if c.time != 0 {
				return c, malformed("it is several profiles one after the other: merge them with `go tool pprof -proto`")
			}
			c.time = v
		}
		if pos < 0 {
			return c, malformed("in the message at byte %s: %s", grouped(int64(i)), wireError(pos))
		}
		i = next
	}
	return c, nil
}

func (c *counts) sample(b []byte) int {
	labels := 0
	for i := 0; i < len(b); {
		tag, v, next := field(b, i)
		if next < 0 {
			return next
		}
		switch tag {
		case sampleLocationPacked:
			c.frames += varints(b[next-int(v) : next])
		case sampleLocation:
			c.frames++
		case sampleLabel:
			labels++
		}
		i = next
	}
	c.labels += labels
	c.mostLabels = max(c.mostLabels, labels)
	return 0
}

func (c *counts) location(b []byte) int {
	lines := 0
	for i := 0; i < len(b); {
		tag, _, next := field(b, i)
		if next < 0 {
			return next
		}
		if tag == locationLine {
			lines++
		}
		i = next
	}
	c.lines += max(lines, 1)
	return 0
}
