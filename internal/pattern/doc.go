// Package pattern decides which names of functions, as profiles spell them, a
// pattern means. It is for the rest of profguard: a budget's subject, and its except
// and in clauses, are patterns.
//
// # Patterns
//
// The documentation of package budget has the forms of patterns. Case counts. Every main
// package is called main, whatever its import path. A word may also be the element of a path
// before a major version, and that without the go- in front or the -go or .go behind that
// repositories have: portlist is portlist/v2, portlist.v3, go-portlist and portlist.go, too.
// T is a type, or a pointer to it, as receiver, (*T) only the pointer. A method is found by
// its type, not by its own name alone.
//
// When a text can be read in several ways, all of them count: yaml.v3 is a
// package, a function v3 of a package yaml, and a method v3 of a type yaml.
//
// testdata/names.txt has examples, each with a name that matches and one that does not.
//
// # Who holds a closure
//
// Function literals, bodies of range-over-func loops, wrappers of go and defer
// statements, method values and instances of generics belong to the function
// that holds them in the source: main.work matches main.work.func1.2, main.work-range1 and
// main.work.gowrap1. Type arguments in a pattern are ignored, while the
// number of a literal means exactly that literal and what is inside it. Such
// numbers change when the source does; prefer the holder.
//
// When later is inlined into outer, its literal is later.func1 all the same since
// Go 1.27, or later.1 in a literal of outer; func1 and 1 are one to a pattern. Before, it is
// outer.later.func1, and both functions hold it. That name says outer's package
// only, so a pattern with a package finds it under later when both are in the
// same package.
//
// It has the form of a literal in a method later of a type outer. Since
// nothing in a name tells the two apart, main.later also matches the literals,
// though not the body, of such a method with a value receiver.
package pattern
