package budget_test

import (
	"bytes"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

func ExampleParse() {
	set, err := budget.Parse(`
		# what a checkout may cost
		no function above 20 % cumulative
		crypto/tls  below 0.20 cores for 3 windows
	`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set)
	// Output:
	// no function above 20% cumulative
	// crypto/tls below 0.2 cores for 3 windows
}

func ExampleParse_mistake() {
	_, err := budget.Parse("no function above 20 cumulative")
	fmt.Println(err)
	// Output:
	// parse budget: line 1, column 19: expected %, cores or a duration per unit of work, found "20"
	// 	no function above 20 cumulative
	// 	                  ^^
	// 	write, for example, "no function above 20% cumulative"
}

// exampleProfile is a window of a service that forgot a debug print.
func exampleProfile() *profile.Profile {
	return folded.Must(`cpu 10s
main.main;main.serve;main.cache@cache.go:46;fmt.Println@print.go:314;fmt.Fprintln;os.(*File).Write;internal/poll.(*FD).Write;syscall.write;internal/runtime/syscall.Syscall6 710
main.main;main.serve;encoding/json.Marshal 150
main.main;main.serve;main.sign;crypto/sha256.Sum256 140
`)
}

func ExampleSet_Judge() {
	set := budget.Must("no function above 20% cumulative", "crypto/md5 absent")
	results, err := set.Judge(exampleProfile(), budget.Facts{})
	if err != nil {
		panic(err)
	}
	for _, result := range results {
		fmt.Println(result)
	}
	// Output:
	// FAIL no function above 20% cumulative
	//   fmt.Println at 71.00%, surely above 63.12% (1000 samples)
	//   1. fmt.Println  71.00%, 7.10s (63.12% to 76.12%)  print.go:314
	//        called from main.cache (100% of it)  cache.go:46
	//        way in      main.cache < main.serve < main.main
	//        goes to     fmt.Fprintln > os.(*File).Write > poll.(*FD).Write > syscall.write > syscall.Syscall6
	//   1 more function over the limit, calling those above or called by them
	// PASS crypto/md5 absent
	//   none of 1000 samples, so its share is below 0.30%
}

func ExampleSet_JudgeReader() {
	var file bytes.Buffer // or os.Open("cpu.pb.gz")
	if err := exampleProfile().Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	results, err := budget.Must("fmt.Println absent").JudgeReader(&file, budget.Facts{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(results[0].Verdict, results[0].Offenders[0].Function, results[0].Offenders[0].Blame.Function)
	// Output: fail fmt.Println main.cache
}

// The CPU of a request, compared with the profile of an earlier build.
func ExampleFacts() {
	set := budget.Must("process below 10ms per request", "process grows below 10% per request")
	results, err := set.Judge(exampleProfile(), budget.Facts{
		Work: map[string]float64{"request": 1200},
		Baseline: budget.Baseline{
			Profile: folded.Must("cpu 10s\nmain.main;main.serve;encoding/json.Marshal 150\nmain.main;main.serve;main.sign 140\n"),
			Work:    map[string]float64{"request": 1250},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Println(r.Verdict, r.Reason)
	}
	// Output:
	// pass the process at 8.3ms, surely below 9.4ms (1000 samples)
	// fail the process grew by 259.20%, surely by more than 155.60% (1000 samples against 290)
}

// A result names the functions over the limit, and the sentence that accepts the first.
func ExampleResult() {
	results, err := budget.Must("no function above 20% cumulative").Judge(exampleProfile(), budget.Facts{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := results[0]
	fmt.Printf("%v: %.0f%%, at least %.0f%%\n", r.Verdict, 100*r.Value, 100*r.Low)
	for _, o := range r.Offenders {
		fmt.Println(o)
	}
	fmt.Println(r.Accept(1))
	// Output:
	// fail: 71%, at least 63%
	// fmt.Println at print.go:314, called from main.cache at cache.go:46, goes to os.(*File).Write
	// no function above 20% cumulative except fmt.Println
}

// A set may be written in Go, too. It prints as sentences.
func ExampleSet() {
	set := budget.Set{
		{Name: "crowd", Subject: "goroutines", Limit: budget.Amount{Value: 5000}},
		{Name: "tls", Subject: "crypto/tls", Limit: budget.Amount{Value: 5, Unit: "%"}},
	}
	fmt.Println(set)
	fmt.Println(set.Validate())
	// Output:
	// crowd: goroutines below 5000
	// tls: crypto/tls below 5% cumulative
	// <nil>
}
