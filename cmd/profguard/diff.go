package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
	"github.com/profguard/profguard/internal/unit"
)

// diff compares two builds.
func diff(ctx context.Context, args []string, std streams) (int, error) {
	s := source{streams: std}
	work, baseWork := map[string]float64{}, map[string]float64{}
	facts := judge.Facts{}
	f := newFlags("diff")
	files, sentences := budgetFlags(f, "; those with \"grows\" are judged (default: no function grows above 3 points and, with a unit of work, process grows below 10%)")
	o := outputsFlag(f, std.out, outcomeFormats...)
	per := f.String("per", "", "the `unit` of work to compare by (default: one that both sides know)")
	f.Func("work", "the work done in NEW, as `name=count`", amounts(work))
	f.Func("base-work", "the work done in OLD, as `name=count`", amounts(baseWork))
	s.profileFlags(f, &facts)
	args, err := parseFlags(f, args, std.out)
	if err != nil {
		return exitMisuse, err
	}
	if len(args) == 0 || len(args) > 2 {
		return exitMisuse, fmt.Errorf("expected OLD and NEW, or a folder of references, found %d arguments", len(args))
	}
	if len(args) == 1 {
		if args, err = newest(args[0]); err != nil {
			return exitMisuse, err
		}
	}
	var set budget.Set // that is given
	if len(*files)+len(*sentences) > 0 {
		if set, err = readBudgets(*files, *sentences); err != nil {
			return exitMisuse, err
		}
	}
	labels := loop.Labels(set)
	before, old, err := s.side(ctx, args[0], "-base-work", baseWork, &tree.Counter{Module: facts.Module, Labels: labels})
	if err != nil {
		return exitMisuse, err
	}
	now, in, err := s.side(ctx, args[1], "-work", work, &tree.Counter{Module: facts.Module, Labels: labels})
	if err != nil {
		return exitMisuse, err
	}
	if err := in.differsFrom(old); err != nil {
		return exitMisuse, err
	}
	if why := otherProgram(old.Table, in.Table, facts.Module); why != "" {
		return exitMisuse, errors.New(why)
	}
	unitOfWork, err := common(before, now, *per)
	if err == nil && unitOfWork == "" && len(work)+len(baseWork) > 0 {
		err = noUnit(before, now)
	}
	if err != nil {
		return exitMisuse, err
	}
	set, err = growthBudgets(set, unitOfWork)
	if err != nil {
		return exitMisuse, err
	}
	r, err := judgeDiff(ctx, set, before, now, unitOfWork)
	if err != nil {
		return exitMisuse, err
	}
	r.Profiles = []described{old.describe(), in.describe()}
	r.Profiles[0].Base = true
	return r.write(o)
}

// side is one of the two, with the work that was done in it, and its profile.
func (s *source) side(ctx context.Context, arg, option string, work map[string]float64, counter *tree.Counter) (*release.Side, *input, error) {
	path := arg
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		list, err := references(arg)
		if err != nil {
			return nil, nil, err
		}
		path = list[0]
	}
	in, err := s.read(ctx, []string{path})
	if err != nil {
		return nil, nil, err
	}
	side, err := reference.Of(ctx, counter, in.Table, in.Table.Comments())
	if err != nil {
		if kindOf(in.Table) != kinds.CPU {
			err = fmt.Errorf("%w; to compare others, say profguard check -base OLD -budget SENTENCE NEW, with a sentence such as \"no function grows above 5 points of allocs\"", err)
		}
		return nil, nil, fmt.Errorf("%s: %w", in.from, err)
	}
	says := side.Pieces.Work
	for _, name := range slices.Sorted(maps.Keys(work)) {
		if n, known := says[name]; known && n != work[name] {
			return nil, nil, fmt.Errorf("%s %s=%v: %s says itself that there were %v; leave out %s, or name a unit that it does not count", option, name, work[name], in.from, n, option)
		}
	}
	if len(work) > 0 { // it is of the whole profile
		side.AsOne(in.Table, work)
	}
	if side.Build == (release.Build{}) {
		side.Build.Version = in.from
	}
	return side, in, nil
}

// references are the files of a folder, that of the build that was first seen last first: of two builds that run
// at once, either may have written last.
func references(dir string) ([]string, error) {
	for _, below := range []string{dumps.FolderName, "references"} { // in DumpDir
		if info, err := os.Stat(filepath.Join(dir, below)); err == nil && info.IsDir() {
			dir = filepath.Join(dir, below)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	times := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && dumps.IsReferenceName(e.Name()) {
			path := filepath.Join(dir, e.Name())
			times[path] = since(path, info.ModTime())
		}
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("%s: expected references, which a guard with a DumpDir writes as NAME.pb.gz, found none", dir)
	}
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(times[b].Compare(times[a]), cmp.Compare(a, b))
	}), nil
}

// since is when the build of a reference was first seen. Whether the file can be read is told when it is compared.
func since(path string, written time.Time) time.Time {
	b, err := os.ReadFile(path)
	if err != nil {
		return written
	}
	t, err := new(decode.Decoder).Bytes(b)
	if err != nil {
		return written
	}
	side, _, err := reference.Facts(t.Comments())
	if err != nil || side == nil {
		return written
	}
	return reference.Since(side, written)
}

// newest are the two newest references of a folder, the older one first.
func newest(dir string) ([]string, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, errors.New("expected OLD and NEW, or a folder of references, found one profile")
	}
	list, err := references(dir)
	switch {
	case err != nil:
		return nil, err
	case len(list) < 2:
		return nil, fmt.Errorf("%s has one reference, %s: there is nothing to compare it with yet", dir, filepath.Base(list[0]))
	}
	return []string{list[1], list[0]}, nil
}

// common is the unit of work that both sides know, "" if there is none.
func common(before, now *release.Side, per string) (string, error) {
	was, is := before.Pieces.Work, now.Pieces.Work
	if per != "" {
		if !(was[per] > 0) || !(is[per] > 0) {
			return "", fmt.Errorf("-per %s: expected how many there were on both sides, found %v in OLD (-base-work) and %v in NEW (-work)", per, was[per], is[per])
		}
		return per, nil
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if is[name] > 0 && was[name] > 0 {
			return name, nil
		}
	}
	return "", nil
}

// noUnit says that the work that was given is not known on both sides in one unit. Shares are no answer to that.
func noUnit(before, now *release.Side) error {
	found := func(side *release.Side) string {
		var list []string
		for name, n := range side.Pieces.Work {
			list = append(list, fmt.Sprintf("%s=%v", name, n))
		}
		slices.Sort(list)
		return cmp.Or(strings.Join(list, ", "), "none")
	}
	return fmt.Errorf("expected a unit of work with a number above 0 on both sides, found %s in OLD (-base-work) and %s in NEW (-work): "+
		"give the same name to both, or neither to compare shares", found(before), found(now))
}

// growthBudgets are the budgets of growth among those that are given, or the usual ones. The exit status follows
// the whole process, too, where a unit of work is known: many functions may have grown that are small.
func growthBudgets(given budget.Set, per string) (budget.Set, error) {
	if len(given) == 0 {
		usual := []string{"no function grows above 3 points"}
		if per != "" {
			usual = []string{"no function grows above 3 points per " + per, "process grows below 10% per " + per}
		}
		return readBudgets(nil, usual)
	}
	set := slices.DeleteFunc(slices.Clone(given), func(b budget.Budget) bool { return b.Rule != budget.RuleGrows })
	if len(set) == 0 {
		return nil, errors.New("expected budgets of growth, such as \"no function grows above 3 points\", found none: profguard check judges others")
	}
	return set, nil
}

// judgeDiff compares the sides for each budget.
func judgeDiff(ctx context.Context, set budget.Set, before, now *release.Side, per string) (*outcome, error) {
	d := &outcome{command: "diff"}
	rules, err := bridge.Rules(set)
	if err != nil {
		return nil, err
	}
	for i, r := range rules {
		o := release.Options{Per: r.Per, Except: r.Except, Label: r.Label}
		if r.Class.IsEach() {
			o.Limit = r.Limit
		}
		c, err := release.Compare(ctx, before, now, o)
		if err != nil {
			return nil, err
		}
		if r.Label == "" && (d.Comparison == nil || d.Comparison.Per != per && r.Per == per) {
			d.Comparison = c
		}
		f := judge.Finding{Samples: int64(c.Now.Samples), Reason: unmet(r.When, c.Now)}
		why := "diff judges budgets on each function, on each value of a label, and on the process; check -base judges others"
		switch {
		case f.Reason != nil:
			why = ""
		case r.Class.IsEach() && r.ComparesBuilds():
			f.Verdict = c.Verdict()
			why = whyFunctions(c, f.Verdict, cmp.Or(r.Label, "function"))
			if c.Without > 0.1 {
				why += fmt.Sprintf("; %s of the samples have no %s", unit.Format(c.Without, unit.Share), r.Label)
			}
			if more, _, _ := c.Lists(); len(more) > 0 {
				f.Value, f.Low, f.High, f.Hits = more[0].Points.Value, more[0].Points.Low, more[0].Points.High, int64(more[0].Hits)
			}
		case r.Class == judge.Process && r.In == "" && len(r.Where) == 0:
			f.Verdict, f.Value, f.Low, f.High = c.ProcessVerdict(r.Limit), c.Process.Value, c.Process.Low, c.Process.High
			why = cmp.Or(c.Why, c.Headline())
		}
		result := bridge.Result[budget.Result](set[i], f)
		result.Reason = cmp.Or(why, result.Reason)
		d.Results = append(d.Results, result)
	}
	if d.Comparison == nil { // all are about values
		if d.Comparison, err = release.Compare(ctx, before, now, release.Options{Per: per}); err != nil {
			return nil, err
		}
	}
	d.Balance = d.Comparison.Balance()
	return d, nil
}

// unmet is why a condition is not known to hold in NEW, nil if it is. A profile of CPU tells the cores.
func unmet(when judge.Condition, now release.Summary) judge.Reason {
	figures := map[string]float64{}
	if now.Elapsed > 0 {
		figures["cores"] = now.CPU / now.Elapsed
	}
	why := when.UnmetBy(figures)
	if _, unknown := why.(judge.ConditionUnknown); unknown {
		return judge.ConditionUnknown{Why: fmt.Sprintf("NEW does not say; profguard check -base OLD -figure %s=VALUE judges it", judge.FigureOf(when.Figure))}
	}
	return why
}

// whyFunctions says why no function or value, or which one, has grown too much.
func whyFunctions(c *release.Comparison, verdict evidence.Verdict, each string) string {
	if c.Why != "" {
		return c.Why + remedy(c)
	}
	more, _, _ := c.Lists()
	if len(more) > 0 {
		var list []string
		for i := range more {
			list = append(list, c.Sentence(&more[i]))
		}
		return strings.Join(list, "; ")
	}
	if verdict == evidence.Pass {
		return "no " + each + " has"
	}
	likeliest := c.Nearest()
	if likeliest == nil {
		return "too few samples to tell"
	}
	return fmt.Sprintf("after %s, %s may have: %s%s; %s", unit.Plural(int64(c.Now.Samples), "sample"), c.Named(likeliest.Name), likeliest.PointsText(), likeliest.At(), c.Remedy())
}

// remedy says what makes a verdict of shares, as the end of a sentence.
func remedy(c *release.Comparison) string {
	if c.Per != "" || len(c.Functions) == 0 {
		return ""
	}
	text := "; to have a verdict, say how much work was done in both, such as -base-work request=90000 -work request=30000"
	if few := min(c.Before.Samples, c.Now.Samples); few < release.LeastShares {
		text += fmt.Sprintf(", or take profiles that are %.1f times as long", math.Ceil(10*release.LeastShares/few)/10)
	}
	return text
}
