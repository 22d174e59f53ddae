// Package pattern understands Go function names as profiles spell them, and
// decides which of them a pattern means. It is for the rest of profguard: a
// budget's subject, and its except and in clauses, are patterns.
//
// # Patterns
//
// A pattern names a package, a function, a type, or a family of them. It matches
// whole names, never pieces of words, and case counts.
//
// A package is given by its import path, or by one word: the path's last
// element, or the one before it if the last is a major version (portlist/v2,
// portlist.v3). It stands for all functions in it. Every main package is called
// main, whatever its import path. A function or type follows its package after a
// dot, or stands alone and is looked for in all packages. A type stands for all
// its methods; T is a type, or a pointer to it, as receiver, (*T) only the
// pointer. A method is found by its type, not by its own name alone.
//
// A package of crypto is also the package of that name below crypto/internal/fips140,
// which does its work since Go 1.24.
//
// When a text can be read in several ways, all of them count: yaml.v3 is a
// package, a function v3 of a package yaml, and a method v3 of a type yaml.
//
//   - ... as a whole element of a path is any number of elements.
//   - * is any run of characters in one path element, type or function name.
//   - /expression/ is a regular expression, matched anywhere in the whole name,
//     with type arguments and compiler suffixes; \/ is a slash inside it.
//   - "name" is the name of one function, as a report prints it. What can be read as
//     a pattern is that pattern; any other name (C++, [libc.so.6], type:.eq.T) matches
//     itself.
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
// When later is inlined into outer, its literal is compiled as
// outer.later.func1. Both functions hold it. The name says outer's package only,
// so a pattern with a package finds it under later when both are in the same
// package.
//
// That name has the form of a literal in a method later of a type outer. Since
// nothing in a name tells the two apart, main.later also matches the literals,
// though not the body, of such a method with a value receiver.
package pattern
