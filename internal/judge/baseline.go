package judge

import (
	"context"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
)

// baseline is the profile that "grows" budgets compare with, counted by the
// same queries. It has names and numbers of its own: it is counted once, while
// those of the windows may start anew.
type baseline struct {
	counter charge.Counter
	symbols decode.Symbols
	profile *profile.Profile
	sets    int                // how many there have been
	problem Reason             // why it cannot be compared with
	byName  []map[string]int32 // by query: the key of a function or package
}

func (b *baseline) forget() {
	b.counter.Forget()
	b.profile = nil
}

// set counts the baseline, unless it has been.
func (b *baseline) set(ctx context.Context, p *profile.Profile, j *Judge) error {
	if p == nil {
		b.profile, b.problem = nil, NoBaseline{}
		return nil
	}
	if b.counter.Module != j.counter.Module {
		b.profile = nil // whose a package is decides what it is charged with
	}
	if p == b.profile {
		return nil
	}
	if err := decode.CheckValid(p); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	base, err := decode.FromProfile(p, &b.symbols)
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	b.profile, b.problem = p, nil
	b.sets++
	b.counter.Forget()
	l := layoutOf(base, j.layout.asked)
	if !j.layout.fits(base, j.layout.asked) {
		b.problem = OtherBaseline{Layout{l.kind, l.period}, Layout{j.layout.kind, j.layout.period}}
		return nil
	}
	// The layout is the same, so the same questions have the same numbers.
	for i := range j.rules {
		r := j.rules[i]
		r.ask(&b.counter, l)
	}
	if err := b.counter.Names.Learn(ctx, base); err != nil {
		b.profile = nil // what is counted is not all
		return fmt.Errorf("baseline: %w", err)
	}
	if waiting := b.counter.Names.Waiting(); waiting > 0 {
		b.profile = nil // go on with the next window
		b.problem = BaselinePending{waiting}
		return nil
	}
	b.counter.Module = j.counter.Module
	b.counter.Open(base)
	b.counter.Count(base, j.isNeeded)
	b.byName = make([]map[string]int32, b.counter.Len())
	for q := range b.byName {
		sums := b.counter.Sums(q)
		if !j.isNeeded(q) || sums.Query.Unit == charge.Pattern {
			continue
		}
		b.byName[q] = make(map[string]int32, len(sums.Keys))
		for _, key := range sums.Keys {
			name := b.symbols.Name(decode.ID(key))
			if sums.Query.Unit == charge.Package {
				name = b.counter.Names.PackageName(key)
			}
			b.byName[q][name] = key
		}
	}
	return nil
}

// charged is what the query charges to a function or package, 0 if the baseline has
// never heard of it; of a rule that is not about each, to the one thing that it is about.
func (b *baseline) charged(r *rule, name string) int64 {
	sums := b.counter.Sums(r.query)
	if r.Class != Each {
		return r.charged(sums)
	}
	if key, ok := b.byName[r.query][name]; ok {
		return sums.By(key)
	}
	return 0
}
