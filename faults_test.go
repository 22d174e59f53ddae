package profguard_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// faults are what may go wrong around a profiler inside a process, by number: what
// is done to it in which test. There may be more tests of a fault than the one here.
var faults = []struct{ fault, folder, test string }{
	1:  {"the profiler is taken", "internal/profiler", "TestFault_01_SlotTaken"},
	2:  {"it is stolen in a window", "internal/profiler", "TestFault_02_Stolen"},
	3:  {"the thief starts again", "internal/profiler", "TestFault_03_ThiefRestarts"},
	4:  {"its start hangs", "internal/profiler", "TestFault_04_StartHangs"},
	5:  {"somebody set another rate", "internal/profiler", "TestFault_05_43_44_LostWindows"},
	6:  {"somebody set the rate to 0", "internal/profiler", "TestFault_06_RateZeroed"},
	7:  {"the signal's handler is replaced", "guard", "TestFault_07_HandlerReplaced"},
	8:  {"go test -cpuprofile", "internal/profiler", "TestFault_08_GoTestCPUProfile"},
	9:  {"a second guard", "guard", "TestFault_09_SecondStart"},
	10: {"samples are lost", "guard", "TestFault_10_SamplesLost"},
	11: {"the disk is full", "internal/dumps", "TestFault_11_NoSpaceAtEveryCall"},
	12: {"the directory may only be read", "internal/dumps", "TestFault_12_ReadOnly"},
	13: {"files are limited in size", "internal/dumps", "TestFault_13_FileSizeLimit"},
	14: {"a symbolic link has the name", "internal/dumps", "TestFault_14_SymlinkAtTheName"},
	15: {"the directory becomes a link", "internal/dumps", "TestFault_15_DirectorySwapped"},
	16: {"a FIFO or device in the directory", "internal/dumps", "TestFault_16_FIFOsAndDevices"},
	17: {"a short write", "internal/dumps", "TestFault_17_ShortWrite"},
	18: {"kill -9 between write and rename", "internal/dumps", "TestFault_18_Kill9"},
	19: {"50,000 stale files", "internal/dumps", "TestFault_19_StaleFiles"},
	20: {"eight processes, one directory", "internal/dumps", "TestFault_20_EightProcesses"},
	21: {"a file vanishes during clean-up", "internal/dumps", "TestFault_21_VanishesDuringCleanUp"},
	22: {"unknown files", "internal/dumps", "TestFault_22_UnknownFiles"},
	23: {"umask 0", "internal/dumps", "TestFault_23_Umask"},
	24: {"a write hangs", "internal/dumps", "TestFault_24_HungWrite"},
	25: {"registered twice", "guard", "TestFault_25_DuplicateRegistration"},
	26: {"the registry blocks", "guard", "TestFault_26_RegistryBlocks"},
	27: {"the collector panics", "guard", "TestFault_27_CollectorPanics"},
	28: {"a name that is not UTF-8", "guard", "TestFault_28_NamesThatAreNotUTF8"},
	29: {"a million names", "guard", "TestFault_29_MillionNames"},
	30: {"an exporter hangs", "guard", "TestFault_30_EmitHangs"},
	31: {"an exporter panics", "guard", "TestFault_31_EmitPanics"},
	32: {"a budget is wrong", "budget", "TestFault_32_WrongSentences"},
	33: {"a reload is wrong", "guard", "TestFault_33_BadReload"},
	34: {"a YAML bomb", ".", "TestFault_34_NoYAML"},
	35: {"a gzip bomb", "internal/decode", "TestFault_35_36_Bombs"},
	36: {"a bomb of empty messages", "internal/decode", "TestFault_35_36_Bombs"},
	37: {"a profile is broken", "internal/decode", "TestFault_37_Truncated"},
	38: {"sums beyond an int64", "internal/charge", "TestFault_38_SumsSaturate"},
	39: {"no samples", "budget", "TestFault_39_ZeroSamples"},
	40: {"a profile in the old text form", "internal/decode", "TestFault_40_Legacy"},
	41: {"a baseline of another unit, or Go", "budget", "TestFault_41_BaselineOfAnotherUnit"},
	42: {"the wall clock jumps", "internal/loop", "TestFault_42_WallClockJumps"},
	43: {"the machine sleeps in a window", "internal/profiler", "TestFault_05_43_44_LostWindows"},
	44: {"a window takes twice its time", "internal/profiler", "TestFault_44_Frozen"},
	45: {"the CPU is throttled", "guard", "TestFault_45_Throttled"},
	46: {"100,000 goroutines", "internal/profiles", "TestFault_46_Goroutines"},
	47: {"50,000 stacks", "internal/decode", "TestFault_47_ManyStacks"},
	48: {"10,000 budgets, a million functions", "budget", "TestFault_48"},
	49: {"300,000 stacks of the heap", "internal/profiles", "TestFault_49_Buckets"},
	50: {"100,000 unique labels", "internal/profiles", "TestFault_50_Labels"},
	51: {"thousands of Starts and Stops", "guard", "TestFault_51_ManyStartsAndStops"},
	52: {"Stop twice, or of nothing", "guard", "TestFault_52_StopAgain"},
	53: {"Stop in a window", "guard", "TestFault_53_StopInMidWindow"},
	54: {"the context ends", "guard", "TestFault_54_RatesRestored"},
	55: {"a callback panics, blocks, or calls Stop", "guard", "TestFault_55_Callback"},
	56: {"exec in a window", "guard", "TestFault_56_ExecInAWindow"},
	57: {"os.Exit while a dump is written", "internal/dumps", "TestFault_57_ExitMidDump"},
	58: {"50 requests for a profile", "internal/web", "TestFault_58_ParallelProfiles"},
	59: {"a client does not read", "internal/web", "TestFault_59_ClientDoesNotRead"},
	60: {"a client leaves", "internal/web", "TestFault_60_ClientLeaves"},
	61: {"another site asks", "internal/web", "TestFault_61_Origins"},
	62: {"an id that is a path", "internal/dumps", "TestFault_62_HostileIDs"},
	63: {"a name that is HTML", "internal/web", "TestFault_63_HostileNames"},
	64: {"an absurd interval", "internal/web", "TestFault_64_Seconds"},
	65: {"stacks cut off at 64 frames", "budget", "TestFault_65_CutStacks"},
	66: {"the folder is another user's, a lock file has two names", "internal/dumps", "TestFault_66_FolderOfOthers"},
	67: {"hostile sidecars", "internal/dumps", "TestFault_67_HostileSidecars"},
	68: {"200 readers, 1,000 budgets", "internal/web", "TestFault_68_ManyReaders"},
	69: {"slow clients, no deadline", "internal/web", "TestFault_69_SixAnswers"},
	70: {"work out of proportion to a profile's bytes", "budget", "TestFault_70_JudgeReader"},
	71: {"thousands of old dumps at Start", "internal/dumps", "TestFault_71_OldDumps"},
	72: {"the process is stopped for longer than its window", "internal/profiler", "TestFault_72_Stopped"},
	73: {"another offender while the budget fires", "guard", "TestFault_73_AnotherOffender"},
	74: {"six busy loops beside a check", "internal/check", "TestFault_74_BusyMachine"},
	75: {"the condition of a budget that fires stops to hold", "guard", "TestFault_75_ConditionStopsToHold"},
	76: {"work starts goroutines and returns", "internal/check", "TestFault_76_84_FireAndForget"},
	77: {"another running check has started the server", "internal/check", "TestFault_77_84_OthersGoroutines"},
	78: {"stacks cut off at a function that some goroutine begins with", "budget", "TestFault_78_80_81_82_CutAnywhere"},
	79: {"interrupts removed from a stack that was cut off", "internal/check", "TestFault_79_InterruptedCut"},
	80: {"profiles of memory cut off, without their leaf frames", "budget", "TestFault_80_MemoryOfRuntime"},
	81: {"stacks cut off at a function of the runtime", "budget", "TestFault_78_80_81_82_CutAnywhere"},
	82: {"stacks cut off in a CPU profile of another period", "budget", "TestFault_78_80_81_82_CutAnywhere"},
	83: {"functions without names", "budget", "TestFault_83_Nameless"},
	84: {"finalizers, cleanups and C threads do the work", "internal/check", "TestFault_77_84_OthersGoroutines"},
	85: {"sums beyond an int64 when profiles are merged", "internal/decode", "TestFault_85_MergedSums"},
	86: {"a base of another program", "cmd/profguard", "TestFault_86_BaseOfAnotherProgram"},
	87: {"a label with the value of another one", "internal/charge", "TestFault_87_WhereKey"},
	88: {"hits that do not add up", "guard", "TestFault_88_SumOfMaxima"},
	89: {"600 regular expressions on 60,000 long names", "budget", "TestFault_89_LongNames"},
	90: {"a budget has a name of 100,000 letters", "budget", "TestFault_90_LongName"},
	91: {"profiles of nearly 10,000 goroutines", "guard", "TestFault_91_GoroutineProfiles"},
	92: {"a check waits for a core between two readings", "internal/check", "TestFault_92_BetweenReadings"},
	93: {"metrics of two processes", "internal/service", "TestFault_93_MetricsOfTwoProcesses"},

	// Of many processes.
	110: {"counters that reset", "internal/rollout", "TestFault_110_CountersReset"},
	111: {"a process hangs, or is not scraped", "internal/rollout", "TestFault_111_ProcessHangs"},
	112: {"a thousand names that differ in each build", "internal/functions", "TestFault_112_NamesDiffer"},
	113: {"hostile names of functions", "internal/functions", "TestFault_113_HostileNames"},
	114: {"a unit of work that one build does not have", "internal/rollout", "TestFault_114_UnitOfOneBuild"},
	115: {"clocks that differ", "internal/rollout", "TestFault_115_Clocks"},
	116: {"a build with one process", "internal/rollout", "TestFault_116_OneProcess"},
	117: {"hostile metrics of a service", "internal/service", "TestFault_117_HostileMetrics"},
	118: {"hostile targets of a probe", "internal/probe", "TestFault_118_HostileTarget"},
	130: {"a reference is damaged, or of a newer form", "internal/reference", "TestFault_130_DamagedReference"},
	131: {"a reference of the future", "internal/dumps", "TestFault_131_ReferenceOfTheFuture"},
	132: {"two processes write a reference", "internal/dumps", "TestFault_132_ReferenceByTwo"},
	133: {"a reference on a full disk", "internal/dumps", "TestFault_133_ReferenceOnAFullDisk"},
	134: {"a reference of another program", "internal/reference", "TestFault_134_ReferenceOfAnotherProgram"},
	135: {"a test binary runs a guard", "internal/reference", "TestFault_135_TestBinary"},
	136: {"builds without version control", "internal/reference", "TestFault_136_NoVersionControl"},
	137: {"counters of work reset between windows", "internal/reference", "TestFault_137_CountersReset"},
	138: {"a release that runs for less than a minute", "internal/reference", "TestFault_138_ShortRelease"},
	139: {"SetBudgets between two windows of a release", "guard", "TestFault_139_SetBudgetsInBetween"},
	140: {"a process ends while it writes its reference", "internal/reference", "TestFault_140_StoppedWhileWriting"},
	141: {"the folder of references cannot be read", "internal/reference", "TestFault_141_FolderNotReadable"},
	142: {"a reference is huge, or a gzip bomb", "internal/reference", "TestFault_142_HugeReference"},
	143: {"the clock is set back a day between releases", "internal/reference", "TestFault_143_ClockSetBack"},
	144: {"two builds run at once, and one is rolled back", "internal/reference", "TestFault_144_TwoBuildsAtOnce"},
	145: {"the old one of two builds writes last", "internal/reference", "TestFault_145_OldBuildWritesLast"},
	146: {"a process fills its caches at each deploy", "guard", "TestFault_146_WarmUp"},
}

// faultTest finds the tests of faults: their names begin with the numbers of what
// they are about.
var faultTest = regexp.MustCompile(`(?m)^func (TestFault((?:_\d{2,3})+)\w*)\(\w+ \*testing\.T\)`)

// TestFaultsHaveTests compares the list of faults with the tests, both ways.
func TestFaultsHaveTests(t *testing.T) {
	const first = 1
	last := len(faults) - 1
	found := map[string][]int{} // by folder and name: the numbers
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range faultTest.FindAllSubmatch(text, -1) {
			name := filepath.ToSlash(filepath.Dir(path)) + " " + string(m[1])
			for number := range strings.SplitSeq(strings.TrimPrefix(string(m[2]), "_"), "_") {
				var n int
				fmt.Sscan(strings.TrimPrefix(number, "0"), &n)
				if n < first || n > last || faults[n].fault == "" {
					t.Errorf("%s: there is no fault %s in the list", name, number)
				}
				found[name] = append(found[name], n)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := first; n <= last; n++ {
		f := faults[n]
		switch numbers, ok := found[f.folder+" "+f.test]; {
		case f.fault == "" && n > 64: // not used
		case f.fault == "":
			t.Errorf("fault %d is not in the list", n)
		case !ok:
			t.Errorf("fault %d, %s: there is no test %s in %s", n, f.fault, f.test, f.folder)
		case !slices.Contains(numbers, n):
			t.Errorf("fault %d, %s: %s is about %v", n, f.fault, f.test, numbers)
		}
	}
}

// TestFault_34_NoYAML: what is not linked has no bombs.
func TestFault_34_NoYAML(t *testing.T) {
	for _, p := range list(t, "./budget", "./guard") {
		for _, dep := range p.Deps {
			if strings.Contains(dep, "yaml") {
				t.Errorf("%s depends on %s: budgets are sentences, and documents with anchors cost gigabytes", p.ImportPath, dep)
			}
		}
	}
}
