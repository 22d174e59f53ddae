package dump

import (
	"cmp"
	"slices"
)

// rank says how long a dump is held on to.
type rank int

const (
	ordinary rank = iota
	past          // first or worst of a violation that is over
	current       // first or worst of a budget's current violation
)

// key groups the dumps of one violation: its name is unique only within the
// process that gave it.
type key struct{ instance, violation string }

// ranks of the dumps that own may delete, as they are once add has come in.
// A first stays first; a worst only until a worse one comes.
func (x *index) ranks(own string, add *entry) map[*entry]rank {
	var all []*entry
	for _, e := range x.entries {
		if e.violation != "" {
			all = append(all, e)
		}
	}
	if add != nil && add.violation != "" {
		all = append(all, add)
	}
	slices.SortFunc(all, older)

	worst := make(map[key]*entry)
	ongoing := make(map[string]string) // own violations by slug
	for _, e := range all {
		if e.worst {
			worst[key{e.name.instance, e.violation}] = e
		}
		if e.name.instance == own {
			ongoing[e.name.slug] = e.violation
		}
	}
	ranks := make(map[*entry]rank)
	for _, e := range all {
		if !e.first && worst[key{e.name.instance, e.violation}] != e {
			continue
		}
		ranks[e] = past
		if e.name.instance == own && ongoing[e.name.slug] == e.violation {
			ranks[e] = current
		}
	}
	return ranks
}

func older(a, b *entry) int {
	return cmp.Or(a.saved.Compare(b.saved), cmp.Compare(a.id, b.id))
}

// choose picks what must go so that add (nil: nothing) fits the caps, the least
// valuable first. It is false when add does not fit, whatever goes; then
// nothing should. Dumps of other live instances are not for us to pick.
//
// An instance that holds more than its share aims at seven eighths of a cap
// instead of all of it, so that those below theirs find room.
func (x *index) choose(own string, keep Keep, add *entry) ([]*entry, bool) {
	ranks := x.ranks(own, add)
	files, bytes := len(x.entries), x.bytes
	ownFiles, ownBytes := 0, int64(0)
	var candidates []*entry
	for _, e := range x.entries {
		if e.name.instance == own {
			ownFiles++
			ownBytes += e.size
		}
		if !x.live[e.name.instance] {
			candidates = append(candidates, e)
		}
	}
	if add != nil {
		files, bytes, ownFiles, ownBytes = files+1, bytes+add.size, ownFiles+1, ownBytes+add.size
	}
	slices.SortFunc(candidates, func(a, b *entry) int {
		mine := func(e *entry) int { // the dead have no use for theirs
			if e.name.instance == own {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), cmp.Compare(mine(a), mine(b)), older(a, b))
	})

	n := len(x.live) + 1
	shareFiles, shareBytes := max(keep.Files/n, 1), keep.Bytes/int64(n)
	over := func() bool {
		maxFiles, maxBytes := keep.Files, keep.Bytes
		if n > 1 && ownFiles > shareFiles {
			maxFiles -= (maxFiles + 7) / 8
		}
		if n > 1 && ownBytes > shareBytes {
			maxBytes -= maxBytes / 8
		}
		return files > maxFiles || bytes > maxBytes
	}
	var victims []*entry
	for _, e := range candidates {
		if !over() {
			break
		}
		// Evidence of what is going on yields to nothing but better evidence,
		// and only when bytes are short.
		if ranks[e] == current && !(add != nil && ranks[add] == current && bytes > keep.Bytes) {
			break
		}
		victims = append(victims, e)
		files, bytes = files-1, bytes-e.size
		if e.name.instance == own {
			ownFiles, ownBytes = ownFiles-1, ownBytes-e.size
		}
	}
	return victims, files <= keep.Files && bytes <= keep.Bytes
}

// expired lists what own may delete because it is too old.
func (s *Store) expired() []*entry {
	var out []*entry
	now := s.now()
	for _, e := range s.x.entries {
		if !s.x.live[e.name.instance] && now.Sub(e.saved) > s.keep.Age {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, older)
	return out
}
