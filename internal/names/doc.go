// Package names understands the names of Go functions as profiles spell them. It reads them
// ([Parse]), and tells which names of a program, of two builds of it, or of two releases of Go mean
// the same code ([Fold], [Pair]).
//
// # Folding
//
// A folded name is that of a function with a name in the source:
//
//	main.serve.func2, main.serve.func1.3, main.serve-range1   main.serve
//	main.serve.gowrap1, main.serve.deferwrap2                 main.serve
//	main.(*T).run-fm                                          main.(*T).run
//	main.Sum[go.shape.int], main.(*List[...]).Add             main.Sum, main.(*List).Add
//	main.init.0, main.init.func3                              main.init
//	crypto/internal/fips140/sha256.(*Digest).Write            crypto/sha256.(*Digest).Write
//	encoding/json/v2.Marshal, encoding/json/jsontext.X        encoding/json.Marshal, encoding/json.X
//
// Where a function was inlined before Go 1.27, the name of its literal begins with its caller's:
// main.(*T).run.(*C).get.func1 is folded to main.(*C).get. Where nothing in a name tells a literal
// of later, inlined into outer, from one of a method later of a type outer, it is outer.later: the
// name of no function, which [Pair] or the callers of it have to make up for.
package names
