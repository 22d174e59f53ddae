package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/unit"
)

// baselineSamples is the number of samples of a baseline, which take 20 seconds of a core.
// With so many, a check needs 16 seconds to show that a share of 50% has not grown by 5
// points; with 1000 it needs 73. A check that gets fewer in its time writes these, if they
// are at least a quarter.
const baselineSamples = 2000

// loadBaseline reads the baseline, if there are rules that compare with it.
func (r *run) loadBaseline() (problem string) {
	rules := slices.DeleteFunc(slices.Clone(r.rules), func(r judge.Rule) bool { return !r.Needs().Baseline })
	if len(rules) == 0 {
		return ""
	}
	path, refresh := r.BaselineFile, "write one with Checker.Update, as its documentation shows"
	f, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("open the baseline: %v; %s", err, refresh)
	}
	defer f.Close()
	base, err := new(decode.Decoder).Decode(f)
	if err == nil {
		r.baselineTable = base
		if r.reference, _, err = reference.Facts(base.Comments()); r.reference == nil {
			r.reference = &release.Side{}
		}
	}
	if err != nil {
		return fmt.Sprintf("read the baseline %s: %v; %s", path, err, refresh)
	}
	work := r.reference.Pieces.Work
	if made := toolchain(r.reference.Build); made != "" && made != toolchain(reference.ThisBuild()) {
		r.notes = append(r.notes, fmt.Sprintf("the baseline %s was made by %s, this is %s: refresh it if its numbers surprise you", path, made, toolchain(reference.ThisBuild())))
	}
	for _, grows := range rules {
		if per := grows.Per; per != "" && !(work[per] > 0) {
			return fmt.Sprintf("the baseline %s does not say how many units of %q it covers; %s", path, per, refresh)
		}
	}
	return ""
}

func toolchain(b release.Build) string { return strings.TrimSpace(b.Go + " " + b.Arch) }

// writeBaseline saves what was sampled as the new baseline.
func (r *run) writeBaseline() (problem string) {
	switch least := r.baseline / 4; {
	case r.BaselineFile == "":
		return "Checker.Update without a BaselineFile: say which file to write"
	case r.judged["cpu"] == nil || r.cpu == nil:
		return "no baseline was written: time was up, or a budget failed, before CPU was sampled"
	case r.cpu.cover.isLow():
		return fmt.Sprintf("no baseline was written: %s came, but %v of CPU should give about %.0f: write it while the machine is idle, and look for another user of SIGPROF in the process",
			unit.Plural(r.cpu.cover.samples, "sample"), r.cpu.cover.cpu.Round(10*time.Millisecond), r.cpu.cover.due())
	case r.cpu.blocks.Samples() < least:
		return fmt.Sprintf("no baseline was written: %d CPU samples came, and a baseline of less than %d would hide growth; raise Checker.Max, or -benchtime of a benchmark, or let work use more CPU",
			r.cpu.blocks.Samples(), least)
	}
	side := release.Side{Build: reference.ThisBuild(), Pieces: r.cpu.pieces}
	err := os.MkdirAll(filepath.Dir(r.BaselineFile), 0o755)
	if err == nil {
		err = os.WriteFile(r.BaselineFile, reference.EncodeWhole(&side, r.judged["cpu"], time.Now()), 0o644)
	}
	if err != nil {
		return fmt.Sprintf("write the baseline: %v", err)
	}
	r.notes = append(r.notes, fmt.Sprintf("%s now holds %d samples of %s (a check takes %d if it has the time); growth was not judged",
		r.BaselineFile, r.cpu.blocks.Samples(), unit.Plural(r.worker.Calls.Load(), "call"), r.baseline))
	return ""
}
