package budget_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// A budget may be written in Go as well as in words.
func ExampleBudget() {
	limit := budget.Amount{Value: 20, Unit: "%"}
	b := budget.Budget{Subject: "fmt.Println", Limit: limit, In: "main.serve"}
	fmt.Println(b)
	fmt.Println(b.Validate())
	// Output:
	// fmt.Println below 20% cumulative in main.serve
	// <nil>
}

// The mistake is told apart, for a program that shows it in its own way.
func ExampleSyntaxError() {
	_, err := budget.Parse("portlist absent\nfmt.Println beneath 10%")
	var mistake *budget.SyntaxError
	if errors.As(err, &mistake) {
		fmt.Printf("line %d, column %d: %q, expected %s\n", mistake.Line, mistake.Column, mistake.Word, mistake.Expected)
	}
	// Output: line 2, column 13: "beneath", expected below, grows or absent after a pattern
}

// Must is for budgets that stand in the program.
func ExampleMust() {
	defer func() { fmt.Println(recover()) }()
	budget.Must("portlist absnt")
	// Output:
	// budget.Must: parse budget: line 1, column 10: expected below, grows or absent after a pattern, found "absnt"
	// 	portlist absnt
	// 	         ^^^^^
	// 	did you mean "portlist absent"?
}

// What a guard watches that was given no budgets.
func ExampleDefault() {
	set := append(budget.Default(), budget.Must("portlist absent")...)
	for _, b := range set[:3] {
		fmt.Println(b.Name)
	}
	fmt.Println(set[len(set)-1])
	// Output:
	// busy-select
	// gc-thrash
	// debug-print
	// portlist absent
}

// A judge is for many profiles: it compiles the budgets once. What a budget needs
// beyond the profile is in the facts.
func ExampleNewJudge() {
	judge, err := budget.NewJudge(budget.Must("main.sign below 2ms per request"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, requests := range []float64{1000, 100} {
		results, err := judge.Profile(exampleProfile(), budget.Facts{Work: map[string]float64{"request": requests}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(results[0].Verdict, results[0].Reason)
	}
	// Output:
	// pass main.sign at 1.4ms, surely below 1.887ms (1000 samples)
	// fail main.sign at 14ms, surely above 8.66527ms (1000 samples)
}

// A watch is for the windows of one process. None of these has enough samples to
// judge by, which is what Verdict says; Alarm goes by all of them.
func ExampleNewWatch() {
	window := folded.Must("cpu 1s\nmain.main;main.serve 97\nmain.main;main.sign 3\n")
	watch, err := budget.NewWatch(budget.Must("main.sign below 8%"), time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	for minute := range 20 {
		results, err := watch.Profile(window, time.Duration(minute)*time.Minute)
		if err != nil {
			fmt.Println(err)
			return
		}
		if r := results[0]; r.Alarm != budget.Inconclusive {
			fmt.Printf("window %d: %s, alarm: %s\n", 1+minute, r.Verdict, r.Alarm)
			return
		}
	}
	// Output: window 11: inconclusive, alarm: pass
}
