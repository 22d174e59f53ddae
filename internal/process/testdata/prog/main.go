// Command prog lists the functions that are linked into it, one a line. It has
// one of each sort.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/process/testdata/prog/absent"
)

type stack[T any] struct{ items []T }

//go:noinline
func (s *stack[T]) push(item T) { s.items = append(s.items, item) }

//go:noinline
func generic[T any](v T) []T { return []T{v} }

type counter int

//go:noinline
func (c *counter) add() { *c++ }

// inlinedOnly has no code of its own: it is small and only called directly.
func inlinedOnly(n int) int { return n*len(os.Args) + 7 }

// inlinedTwice is inlined, and inlinedOnly within it: no address has it as the
// innermost function but the multiplication's.
func inlinedTwice(n int) int { return 3 * inlinedOnly(n) }

//go:noinline
func closure(n int) func() int {
	return func() int { return n + len(os.Args) }
}

func main() {
	var c counter
	c.add()
	s := &stack[int]{}
	s.push(absent.Called() + generic(1)[0] + inlinedTwice(int(c)) + closure(2)())
	if len(os.Args) > 1 {
		// Not even the name is needed while the program runs.
		if err := os.Remove(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	err := process.Functions(func(name string) bool {
		fmt.Fprintln(out, name)
		return true
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
