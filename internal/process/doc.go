// Package process reads what this process uses (CPU, memory, goroutines, garbage
// collection), and which functions are linked into it.
//
// [Read] takes a Snapshot. It stops nothing and takes some ten microseconds, so that the
// guard can afford one a second. [Between] turns two of them into Figures.
//
// [Functions] names the functions of the running program, so that a budget on a
// function that the program does not have is reported instead of passing for ever.
// [Missing] says which patterns match none of them, and finds the nearest name.
// Functions that the compiler has removed are not named, and profiles cannot show
// them either; nor are functions in plugins and in C code.
package process
