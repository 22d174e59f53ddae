package judge

import (
	"testing"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/folded"
)

// TestContentOf: copies of a profile have its content, and nothing else has.
func TestContentOf(t *testing.T) {
	const text = "cpu 10s\nmain.main;main.run;main.work 2000\nmain.main;main.run;main.rest 8000\n"
	p := folded.Must(text)
	if contentOf(p) != contentOf(folded.Must(text)) || contentOf(p) != contentOf(p.Copy()) {
		t.Error("a copy has another content")
	}
	unnumbered := func(fn string) *profile.Profile {
		q := p.Copy()
		for _, l := range q.Location {
			l.ID = 0
		}
		q.Sample[0].Location = q.Sample[0].Location[:1]
		q.Sample[0].Location[0].Line[0].Function.Name = fn
		return q
	}
	seen := map[uint64]string{contentOf(p): "the profile"}
	for name, other := range map[string]*profile.Profile{
		"another number": folded.Must("cpu 10s\nmain.main;main.run;main.work 2001\nmain.main;main.run;main.rest 7999\n"),
		"another name":   folded.Must("cpu 10s\nmain.main;main.run;main.wort 2000\nmain.main;main.run;main.rest 8000\n"),
		"another stack":  folded.Must("cpu 10s\nmain.run;main.main;main.work 2000\nmain.main;main.run;main.rest 8000\n"),
		"another time": func() *profile.Profile {
			q := p.Copy()
			q.TimeNanos++
			return q
		}(),
		"a label": func() *profile.Profile {
			q := p.Copy()
			q.Sample[0].Label = map[string][]string{"a": {"b"}}
			return q
		}(),
		"without numbers":            unnumbered("main.work"),
		"without numbers, elsewhere": unnumbered("main.wort"),
	} {
		if same := seen[contentOf(other)]; same != "" {
			t.Errorf("%s: the content of %s", name, same)
		}
		seen[contentOf(other)] = name
	}
}
