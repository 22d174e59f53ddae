package words_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/golden"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/words"
)

// share is a finding on a share, with a reason.
func share(v evidence.Verdict, reason judge.Reason) judge.Finding {
	return judge.Finding{Verdict: v, Value: 0.24, Low: 0.21, High: 0.27, Samples: 3000, Hits: 720, Who: "main.search", Reason: reason}
}

// figure is a finding on a number of goroutines.
func figure(v evidence.Verdict, reason judge.Reason) judge.Finding {
	return judge.Finding{Verdict: v, Value: 6000, Low: 6000, High: 6000, Samples: 12, Hits: 3, Reason: reason}
}

// A phrase is a finding about a budget.
type phrase struct {
	sentence string
	finding  judge.Finding
}

// phrases have each reason once.
func phrases() []phrase {
	const pass, fail, open = evidence.Pass, evidence.Fail, evidence.Inconclusive
	const each, named, absent, count, work = "no function above 20% cumulative when process above 0.1 cores", "encoding/json below 20% in main.serve where tenant=a",
		"portlist absent", "goroutines below 5000", "process below 2ms per request"
	why := func(r judge.Reason) judge.Finding { return judge.Finding{Reason: r} }
	without, with := share(pass, judge.Measured{}), share(fail, judge.Measured{})
	others := words.Others{Samples: 40, Roots: []string{"net/http.(*conn).serve"}}
	builds := &release.Comparison{Per: "request", Before: release.Summary{Build: release.Build{Version: "v1.2.0"}}, Now: release.Summary{Build: release.Build{Version: "v1.3.0"}}}
	return []phrase{
		{each, why(judge.Failed{Err: errors.New("no window was valid")})},
		{each, why(judge.Idle{Value: 0.02})},
		{each, why(judge.ConditionUnknown{})},
		{named, why(judge.NotLinked{})},
		{named, why(judge.OtherKind{Wanted: "cpu", Is: "heap"})},
		{named, why(judge.NoSamples{})},
		{named, why(judge.NoNames{Share: 0.4})},
		{"no package above 20% cumulative", why(judge.NoPackages{Share: 0.4})},
		{named, why(judge.OutOfScope{})},
		{"no tenant above 20%", why(judge.NoLabel{})},
		{"no tenant above 20%", why(judge.TooManyValues{})},
		{"no tenant grows above 5 points", why(judge.BaselineNoLabel{})},
		{work, why(judge.DurationUnknown{})},
		{"no function grows above 5 points", why(judge.NoBaseline{})},
		{"no function grows above 5 points", why(judge.OtherBaseline{Is: &charge.Layout{Kind: "cpu", Period: 1}, Profile: &charge.Layout{Kind: "heap", Period: 2}})},
		{"no function grows above 5 points", why(judge.BaselineEmpty{})},
		{"no function grows above 5 points", why(judge.BaselineNoNames{Share: 0.4})},
		{"process grows below 10% per request", why(judge.BaselineWorkUnknown{})},
		{"rss below 64MiB", why(judge.FigureUnknown{Name: "rss"})},
		{work, why(judge.WorkUnknown{})},
		{work, why(judge.NoWork{})},
		{"no endpoint above 5ms per http_requests_total", judge.Finding{Reason: judge.OwnWorkUnknown{}, Who: "GET /", Apart: judge.Apart{Values: 9, Open: 2, Uncounted: 1}}},
		{"no function grows above 5 points per request", why(judge.NoRelease{Why: "this is the first build"})},

		{count, figure(fail, judge.Counted{})},
		{each, share(fail, judge.Measured{})},
		{each, share(fail, judge.Likely{Proven: "main.sort", ProvenLow: 0.22})},
		{"no function above 0.1 cores of mutex", share(open, judge.Unseen{Waited: 3 * time.Second})},
		{"encoding/json below 20%", share(open, judge.UpTo{})},
		{each, share(open, judge.TooFew{Needed: 4200, Notable: 0.3})},
		{each, share(open, judge.TooClose{Needed: 9000, Zone: 0.25})},
		{absent, share(fail, judge.Occurs{})},
		{"no goroutine leaked", figure(fail, judge.Leaked{})},
		{"goroutines steady", why(judge.BetweenCalls{})},
		{absent, share(pass, judge.AbsentInBlocks{})},
		{each, share(pass, judge.InBlocks{})},
		{"no function grows above 5 points", share(fail, judge.Growth{Before: 2900})},
		{"no function grows above 5 points per request", share(fail, judge.Released{Of: builds, Function: &release.Function{Name: "main.search", Now: 0.004, Before: 0.003}})},
		{work, share(fail, judge.CountedOver{Elapsed: time.Minute, Work: 1200})},
		{count, figure(fail, judge.MadeOf{Of: judge.Counted{}, Kind: "goroutine", Err: errors.New("there are too many")})},

		{each, why(words.NoTime{})},
		{each, why(words.NoWindow{Why: "the profiler is in use"})},
		{"no function above 0.1 cores of mutex", why(words.NoEvents{})},
		{count, figure(fail, words.AtOnce{Of: judge.Counted{}})},
		{"no goroutine leaked", figure(fail, words.Left{Elapsed: 2 * time.Second})},
		{work, figure(open, words.FewBatches{})},
		{work, share(open, words.Unsteady{Of: judge.Measured{}})},
		{work, share(open, words.BesideOthers{Of: judge.Measured{}})},
		{work, why(words.NoUnit{Calls: 100})},
		{named, why(words.OutOfReach{Of: judge.OutOfScope{}})},
		{"process below 0.01 cores", share(open, words.LittleCPU{Of: judge.Measured{}, Cores: 0.02})},
		{each, why(words.SmallWork{Loop: 30, Samples: 100, Call: 90 * time.Nanosecond})},
		{each, why(words.Unsampled{Samples: 3, Due: 100, CPU: time.Second})},
		{each, why(words.Asleep{Samples: 3, Elapsed: time.Second, Calls: 9, Others: others})},
		{each, share(open, words.WithOthers{Others: others, With: &with, Without: &without})},
		{each, why(words.LostLabel{Samples: 90, Kept: 10, Function: "main.handle"})},
		{work, why(words.StillRunning{Number: 2, Calls: 9, Root: "main.handle"})},
		{count, figure(pass, words.MoreGoroutines{Of: judge.Counted{}, Come: 9, Calls: 9, Root: "net/http.(*conn).serve"})},
		{"heap steady", share(fail, words.Levels{First: 1 << 20, Rise: 4096, Calls: 100})},
	}
}

// TestWords shows the words of each reason once. What depends on the subject, the limit or the verdict
// beyond that is in the tests below.
func TestWords(t *testing.T) {
	var got strings.Builder
	shown := map[string]bool{}
	for _, tt := range phrases() {
		_, name, _ := strings.Cut(fmt.Sprintf("%T", tt.finding.Reason), ".")
		if shown[name] {
			t.Errorf("%s is there twice", name)
		}
		shown[name] = true
		text := bridge.CheckResult[budget.Result](budget.Must(tt.sentence)[0], tt.finding).Reason
		if text == fmt.Sprint(tt.finding.Reason) {
			t.Errorf("there are no words for %s", name)
		}
		fmt.Fprintf(&got, "%s: %s\n\t%s\n", name, tt.sentence, text)
	}
	f := share(evidence.Fail, judge.Measured{})
	f.Notes = judge.Notes{Cut: 9, Unordered: true, Unmatched: true}
	f.Over = 3
	at := func(function, file string, line int, share float64) judge.Frame {
		return judge.Frame{Function: function, File: file, Line: line, Share: share, Amount: 10 * share}
	}
	f.Offenders = []judge.Offender{{
		Frame: at("encoding/json.Marshal", "/go/src/encoding/json/encode.go", 160, 0.24), Low: 0.21, High: 0.27,
		Blame:   at("main.list", "/shop/list.go", 8, 0.24),
		Owner:   at("main.(*server).export", "/shop/export.go", 31, 0.23),
		Callers: []judge.Frame{at("example.com/api/v2.(*API).render", "", 0, 0.24), at("main.list", "/shop/list.go", 8, 0.24), at("main.serve", "", 0, 0.3)},
		Callees: []judge.Frame{at("encoding/json.(*encodeState).marshal", "", 0, 0.2), at("encoding/json.(*encodeState).marshal", "", 0, 0.2), at("main.Map[int].MarshalJSON", "", 0, 0.1)},
	}, {Frame: at("main.list", "/shop/list.go", 8, 0.25)}}
	result := bridge.Result[budget.Result](budget.Must("no function above 20% cumulative")[0], f)
	fmt.Fprintf(&got, "%s\n%s\n", result, result.Offenders[0])
	f.Notes, f.Who = judge.Notes{Without: 0.23}, "acme inc"
	f.Offenders[0].Frame, f.Offenders[0].Within = judge.Frame{Function: f.Who, Share: 0.24, Amount: 2.4}, at("encoding/json.Marshal", "/go/src/encoding/json/encode.go", 160, 0.2)
	f.Offenders[1] = judge.Offender{Frame: judge.Frame{Function: "blue", Share: 0.21, Amount: 2.1}}
	result = bridge.Result[budget.Result](budget.Must("no tenant above 20%")[0], f)
	fmt.Fprintf(&got, "%s\n%s\n", result, result.Offenders[0])
	golden.Compare(t, "words.txt", got.String())

	reasons := ""
	for file, from := range map[string]string{"../judge/finding.go": "\ntype Reason any\n", "check.go": "\n// Reasons of the check of a test.\n"} {
		defined, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(defined), from)
		reasons += after
	}
	types := regexp.MustCompile(`(?m)^(?:\t|type )([A-Z]\w*) +struct\b`).FindAllStringSubmatch(reasons, -1)
	for _, m := range types {
		if !shown[m[1]] {
			t.Errorf("the words of %s are not shown", m[1])
		}
	}
	if len(types) != len(shown) {
		t.Errorf("%d reasons are shown, and %d defined", len(shown), len(types))
	}
}

// Sentences that depend on the subject or on the limit.
func TestReasonWords(t *testing.T) {
	open := func(line, blame release.Frame) judge.Finding {
		f := release.Function{Name: "main.search", Now: 0.004, Before: 0.003, Line: line, Blame: blame}
		return share(evidence.Inconclusive, judge.Released{Of: &release.Comparison{Per: "request"}, Function: &f})
	}
	const may, tell = "main.search costs 4ms per request, 3ms before: +0.0 points (+0.0 to +0.0)", "; more samples will tell; unknown build against unknown build"
	own := release.Frame{Function: "main.search", File: "/shop/search.go", Line: 46}
	for _, tt := range []struct {
		budget  string
		finding judge.Finding
		want    string
	}{
		{"no function grows above 5 points per request", open(own, own), may + " at shop/search.go:46" + tell},
		{"no function grows above 5 points per request", open(own, release.Frame{}), may + " at shop/search.go:46" + tell},
		{"no function grows above 5 points per request", open(own, release.Frame{Function: "main.serve", File: "/shop/serve.go", Line: 8}), may + ", called from main.serve at shop/serve.go:8" + tell},
		{"no function grows above 5 points per request", open(release.Frame{}, release.Frame{}), may + tell},
		{"main.x below 70%", judge.Finding{Verdict: evidence.Pass, Value: 0.73, High: 0.83, Samples: 260, Reason: judge.InBlocks{}}, "main.x at 73.00%, too close to the limit to tell; 85% would have been caught, the limit is 70% (260 samples)"},
		{"main.x below 20%", judge.Finding{Verdict: evidence.Pass, Value: 0.05, High: 0.15, Samples: 260, Reason: judge.InBlocks{}}, "main.x at 5.00%, likely below 15.00%; 30% would have been caught, the limit is 20% (260 samples)"},
		{"process below 2ms per call", judge.Finding{Verdict: evidence.Pass, Value: 0.00124034, Low: 0.0009, High: 0.0016, Samples: 145, Reason: judge.Measured{}}, "the process at 1.2ms, surely below 1.6ms (145 samples)"},
		{strings.Repeat("a", 60) + " absent", judge.Finding{Verdict: evidence.Fail, Hits: 1, Samples: 2, Reason: judge.Occurs{}}, strings.Repeat("a", 60) + " shows in 1 of 2 samples (0.00%), and must be absent"},
		{"/" + strings.Repeat("a", 58) + "é|b/ absent", judge.Finding{Verdict: evidence.Fail, Hits: 1, Samples: 2, Reason: judge.Occurs{}}, "/" + strings.Repeat("a", 58) + "... shows in 1 of 2 samples (0.00%), and must be absent"},
		{"process below 4ms per call", judge.Finding{Verdict: evidence.Pass, Value: 0.0041, High: 0.0045, Samples: 260, Reason: judge.InBlocks{}}, "the process at 4.1ms, too close to the limit to tell; 6ms would have been caught, the limit is 4ms (260 samples)"},
	} {
		b := budget.Must(tt.budget)[0]
		if got := bridge.Result[budget.Result](b, tt.finding).Reason; got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.budget, got, tt.want)
		}
	}
}

// TestOffenderGoesTo: the next package is not a major version of the offender's own, which has the same name.
func TestOffenderGoesTo(t *testing.T) {
	for name, tt := range map[string]struct {
		callees []string
		want    string
	}{
		"another package": {[]string{"encoding/json.(*decodeState).object", "main.(*Order).UnmarshalJSON"}, ", goes to main.(*Order).UnmarshalJSON"},
		"its version 2":   {[]string{"encoding/json/v2.Unmarshal", "encoding/json/v2.unmarshalDecode"}, ""},
		"and from there":  {[]string{"encoding/json/v2.Unmarshal", "encoding/json/jsontext.(*Decoder).ReadToken"}, ", goes to jsontext.(*Decoder).ReadToken"},
		"the same name":   {[]string{"example.com/shop/json.Hook"}, ", goes to json.Hook"},
	} {
		o := budget.Offender{
			Frame: budget.Frame{Function: "encoding/json.Unmarshal"},
			Blame: budget.Frame{Function: "shop.(*Store).Get"},
			Owner: budget.Frame{Function: "main.debugState", File: "/shop/debug.go", Line: 10},
		}
		for _, callee := range tt.callees {
			o.Callees = append(o.Callees, budget.Frame{Function: callee})
		}
		want := "encoding/json.Unmarshal, called from shop.(*Store).Get, nearly all of it in main.debugState, shop/debug.go:10" + tt.want
		if got := o.String(); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}
