package budget_test

import (
	"errors"
	"fmt"

	"github.com/profguard/profguard/budget"
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
	// 	write, for example, "crypto/tls below 5% cumulative"
}

// The default budgets, together with one of your own.
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
