package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/service"
	"github.com/profguard/profguard/internal/unit"
)

// amounts reads a flag like "-work request=1200", given once for each name. Without names
// it takes any.
func amounts(into map[string]float64, names ...string) func(string) error {
	return func(s string) error {
		name, value := unit.CutCount(s)
		n, err := strconv.ParseFloat(value, 64)
		want, most, such := "0 or more", math.MaxFloat64, "request=1200"
		if len(names) > 0 {
			such = "rss=15e6 (bytes) or gc=0.05"
			if name == "gc" {
				want, most = "0 to 1", 1
			}
		}
		switch {
		case len(names) > 0 && !slices.Contains(names, name):
			return fmt.Errorf("expected one of %s", strings.Join(names, ", "))
		case name == "" || err != nil:
			return errors.New("expected a name and a number without a unit, such as " + such)
		case !(n >= 0 && n <= most):
			return fmt.Errorf("%s: expected %s, found %s", name, want, value)
		}
		into[name] = n
		return nil
	}
}

// profileFlags are those of all commands that read profiles.
func (s *source) profileFlags(f *flag.FlagSet, facts *judge.Facts) {
	f.Func("kind", "the `kind` of the profiles, if they do not say: mutex and block look the same", func(kind string) error {
		if facts.Kind = kind; !slices.Contains(kinds.Names(), kind) {
			return fmt.Errorf("expected one of %s", strings.Join(kinds.Names(), ", "))
		}
		return nil
	})
	authorizationFlag(f, &s.authorization)
	f.IntVar(&s.seconds, "seconds", 10, "the `seconds` for which a service is profiled, unless its URL says")
	f.StringVar(&facts.Module, "module", "", "the `path` of your module, to find your calls and to tell a server's own work from yours")
}

// figures are what -figure may name.
var figures = []string{"cores", "goroutines", "heap", "rss", "gc"}

// check compares profiles with budgets.
func check(ctx context.Context, args []string, std streams) (int, error) {
	s := source{streams: std, pause: busyFor}
	facts := judge.Facts{Work: map[string]float64{}, Figures: map[string]float64{}, BaselineWork: map[string]float64{}}
	f := newFlags("check")
	files, sentences := budgetFlags(f, "")
	base := f.String("base", "", "the `profile` that \"grows\" budgets compare with")
	o := outputsFlag(f, std.out, outcomeFormats...)
	f.Func("work", "the work done in the profile, as `name=count`, for budgets with \"per\"", amounts(facts.Work))
	f.Func("figure", "a figure of the process, as `name=value`: cores, goroutines, heap, rss (bytes), gc (0 to 1)",
		amounts(facts.Figures, figures...))
	f.Func("base-work", "the work done in the base, as `name=count`", amounts(facts.BaselineWork))
	f.StringVar(&s.client.Metrics, "metrics", "", "the `address` of the service's Prometheus metrics, for figures and units of work (default: its /metrics)")
	s.profileFlags(f, &facts)
	args, err := parseFlags(f, args, std.out)
	if err != nil {
		return exitMisuse, err
	}
	set, err := readBudgets(*files, *sentences)
	if err != nil {
		return exitMisuse, err
	}
	var bases []*input
	var tables []*decode.Table
	if *base != "" {
		in, err := s.read(ctx, []string{*base})
		if err != nil {
			return exitMisuse, fmt.Errorf("-base %w", err)
		}
		facts.Baseline, bases = in.Table, []*input{in}
		facts.BaselineWork = knownWork(in.Table, facts.BaselineWork)
	}
	list, err := s.inputs(ctx, args, set, facts)
	if err != nil {
		return exitMisuse, err
	}
	for _, old := range bases {
		if err := list[0].differsFrom(old); err != nil {
			return exitMisuse, err
		}
	}
	findings, used, err := judgeAll(set, list)
	if err != nil {
		return exitMisuse, err
	}
	results := make([]budget.Result, len(set))
	for i, b := range set {
		results[i] = bridge.Result[budget.Result](b, findings[i])
		results[i].Reason = cmp.Or(lacks(&b, findings[i].Reason, used[i].Facts), results[i].Reason)
		if b.Rule == budget.RuleGrows && facts.Baseline != nil && used[i].Table != nil {
			if why := otherProgram(facts.Baseline, used[i].Table, facts.Module); why != "" {
				findings[i] = judge.Finding{Reason: judge.Failed{Err: errors.New(why)}}
				results[i] = bridge.Result[budget.Result](b, findings[i])
			}
		}
	}
	r := &outcome{command: "check", Results: results}
	for _, in := range append(bases, list...) {
		r.Profiles = append(r.Profiles, in.describe())
		if in.Table != nil {
			tables = append(tables, in.Table)
		}
	}
	for i := range bases {
		r.Profiles[i].Base = true
	}
	if err := doubtMisspelt(set, results, tables...); err != nil {
		return exitMisuse, err
	}
	return r.write(o)
}

// inputs are what the arguments name: all that the budgets need of a service, or one profile.
func (s *source) inputs(ctx context.Context, args []string, set budget.Set, facts judge.Facts) ([]*input, error) {
	if len(args) == 1 && facts.Kind == "" {
		if root, name := service.Root(args[0]); root != nil && name == "" {
			rules, err := bridge.Rules(set)
			if err != nil {
				return nil, err
			}
			return s.survey(ctx, root, rules, facts)
		}
	}
	in, err := s.read(ctx, args)
	if err != nil {
		return nil, err
	}
	in.Facts = facts
	if len(args) == 1 { // of several, nothing says how much work was done in all
		in.Facts.Work = knownWork(in.Table, facts.Work)
	}
	in.Facts.Kind = cmp.Or(facts.Kind, in.Kind)
	if kind := in.describe().Kind; len(args) > 1 && kinds.Of(kind).Taken == kinds.State {
		return nil, fmt.Errorf("expected one profile of %s, found %d: each is of a moment, and their sum is of none", kind, len(args))
	}
	return []*input{in}, nil
}

// judgeAll judges each budget by the input of its kind, or else by the first, and returns that
// input too.
func judgeAll(set budget.Set, list []*input) (findings []judge.Finding, used []*input, err error) {
	rules, err := bridge.Rules(set)
	if err != nil {
		return nil, nil, err
	}
	by := map[*input][]judge.Finding{}
	for _, in := range list {
		if by[in] = judge.Unjudged(len(set), in.Err); in.Table != nil {
			if by[in], err = judge.New(rules).Table(context.Background(), in.Table, in.Facts); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", in.from, err)
			}
		}
	}
	for i := range rules {
		kind := rules[i].SampledBy()
		in := list[max(0, slices.IndexFunc(list, func(in *input) bool { return in.Kind == kind }))]
		findings, used = append(findings, by[in][i]), append(used, in)
	}
	return findings, used, nil
}

// budgetFlags are -b and -budget. note is more about them.
func budgetFlags(f *flag.FlagSet, note string) (files, sentences *[]string) {
	files, sentences = new([]string), new([]string)
	f.Func("b", "a `file` of budgets, one a line; may be given several times", appending(files))
	f.Func("budget", "a budget, as a `sentence`; may be given several times"+note, appending(sentences))
	return files, sentences
}

// readBudgets returns the budgets of all files and sentences.
func readBudgets(files, sentences []string) (budget.Set, error) {
	var set budget.Set
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		part, err := budget.Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(part) == 0 {
			return nil, fmt.Errorf("%s: there is no budget in it", name)
		}
		set = append(set, part...)
	}
	for _, sentence := range sentences {
		part, err := budget.Parse(sentence)
		if err != nil {
			return nil, fmt.Errorf("-budget: %w", err)
		}
		if len(part) == 0 {
			return nil, fmt.Errorf("-budget %q: there is no budget in it", sentence)
		}
		set = append(set, part...)
	}
	if len(set) == 0 {
		return nil, errors.New("no budgets: expected -b FILE, or -budget 'no function above 20% cumulative'; \"profguard suggest PROFILE\" writes some")
	}
	return set, set.Validate()
}

// lacks says which flag is missing to decide a budget, "" if none is. So a file with all
// budgets of a service can be used: those that one profile can decide are judged.
func lacks(b *budget.Budget, reason judge.Reason, facts judge.Facts) string {
	figure := func(name string) string {
		if name == "process" {
			name = "cores"
		}
		return fmt.Sprintf("expected -figure %s=VALUE", name)
	}
	work := func(option, of string, given map[string]float64) string {
		if label := b.Label(); label != "" && option == "-work" {
			w, _ := unit.ParseWork(unit.WorkBy(b.Per, label))
			return fmt.Sprintf("each %s is divided by its own work: expected -work '%s=COUNT' for each", label, w.Of("VALUE"))
		}
		text := fmt.Sprintf("it divides by work: expected %s %s=COUNT, how many there were while %s was taken", option, b.Per, of)
		if _, named := given[b.Per]; !named && len(given) > 0 {
			text += ", found " + strings.Join(slices.Sorted(maps.Keys(given)), ", ")
		}
		return text
	}
	switch reason.(type) {
	case judge.BetweenCalls:
		return "it compares calls: a test judges it, no single profile can"
	case judge.NoBaseline:
		return "it compares with an earlier profile: expected -base PROFILE"
	case judge.WorkUnknown:
		return work("-work", "the profile", facts.Work)
	case judge.BaselineWorkUnknown:
		return work("-base-work", "the base", facts.BaselineWork)
	case judge.ConditionUnknown:
		return fmt.Sprintf("it is judged only when %s: %s", b.When, figure(string(b.When.Figure)))
	case judge.FigureUnknown, judge.OtherKind:
		if slices.Contains(figures, b.Subject) {
			return "it is about a figure of the process: " + figure(b.Subject)
		}
	}
	return ""
}
