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
