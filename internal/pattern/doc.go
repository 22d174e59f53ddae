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
//   - Names that are not Go's (C++, [libc.so.6], type:.eq.T) match themselves.
//   - "name" is the name of one function, as a report prints it. What can be read as
//     a pattern is that pattern; any other name matches itself.
//
// Examples, each with a name that matches and one that does not:
//
//	pattern                            matches                                          does not match
//	portlist                           tailscale.com/portlist.(*Poller).Poll            main.portlister
//	portlist                           example.com/portlist/v2.New                      example.com/portlist/internal.New
//	portlist                           main.portlist                                    main.(*T).portlist
//	main                               main.run                                         example.com/main/sub.run
//	tailscale.com/portlist             tailscale.com/portlist.New                       example.com/tailscale.com/portlist.New
//	fmt.Println                        fmt.Println                                      fmt.Printf
//	encoding/json.Marshal              encoding/json.Marshal                            example.com/encoding/json.Marshal
//	portlist.Poller                    tailscale.com/portlist.(*Poller).Poll            tailscale.com/portlist.New
//	portlist.(*Poller).Poll            tailscale.com/portlist.(*Poller).Poll            tailscale.com/portlist.(*Poller).Close
//	(*Poller).Poll                     tailscale.com/portlist.(*Poller).Poll            main.Poller.Poll
//	(*Poller)                          tailscale.com/portlist.(*Poller).Close           tailscale.com/portlist.Poller.Close
//	Poller.Poll                        main.Poller.Poll                                 main.Poller.PollOnce
//	Poller.Poll                        main.(*Poller).Poll                              main.Poll
//	gopkg.in/yaml.v3                   gopkg.in/yaml%2ev3.(*Decoder).Decode             gopkg.in/yaml%2ev2.(*Decoder).Decode
//	yaml.v3.Unmarshal                  gopkg.in/yaml%2ev3.Unmarshal                     gopkg.in/yaml%2ev3.Marshal
//	yaml                               gopkg.in/yaml%2ev3.Unmarshal                     sigs.k8s.io/yamlfmt.Unmarshal
//	net/http/...                       net/http/httptrace.ContextClientTrace            net/httputil.Dump
//	net/http/...                       net/http.(*conn).serve                           vendor/golang.org/x/net/http/httpguts.Valid
//	golang.org/x/net/...               vendor/golang.org/x/net/http/httpguts.Valid      net/http.Get
//	crypto/sha256                      crypto/internal/fips140/sha256.(*Digest).Write   crypto/sha512.Sum512
//	crypto/sha256.New                  crypto/internal/fips140/v1.0.0/sha256.New        crypto/internal/fips140/sha512.New
//	.../cache                          example.com/a/b/cache.Get                        example.com/a/bcache.Get
//	.../cache.Get                      example.com/a/b/cache.Get                        example.com/a/b/cache.Put
//	example.com/.../internal/...       example.com/a/internal/b.F                       example.com/a/b.F
//	main.handle*                       main.handleLogin                                 main.(*Server).handleLogin
//	encoding/*                         encoding/json.Marshal                            encoding/json/v2/inner.F
//	(*Server).Handle*                  main.(*Server).HandleLogin                       main.(*Client).HandleLogin
//	*.Close                            os.(*File).Close                                 os.(*File).close
//	/^net\.(Dial|Listen)/              net.DialTimeout                                  internal/net.Dial
//	/x\/net/                           vendor/golang.org/x/net/http2.F                  golang.org/x/text.F
//	memcpy                             memcpy                                           memcpy_avx
//	[libc.so.6]                        [libc.so.6]                                      [libm.so.6]
//	"main.run"                         main.run.func1                                   main.runner
//	"foo(int, char)"                   foo(int, char)                                   foo(int)
//
// # Who holds a closure
//
// Function literals, bodies of range-over-func loops, wrappers of go and defer
// statements, method values and instances of generics belong to the function
// that holds them in the source:
//
//	pattern                            matches                                          does not match
//	main.work                          main.work.func1.2                                main.worker.func1
//	main.work                          main.work-range1                                 main.T.work
//	main.work                          main.work.gowrap1                                main.(*work2).run
//	main.work                          main.work.deferwrap2                             main.network
//	main.(*T).M                        main.(*T).M-fm                                   main.(*T).M2-fm
//	main.Gen                           main.Gen[go.shape.int].func1                     main.Gen2[go.shape.int]
//	main.Gen[go.shape.int]             main.Gen[go.shape.string]                        main.Gen2[go.shape.int]
//	main.init                          main.init.0.func1                                main.initialise
//	main.work.func1                    main.work.func1.2                                main.work.func2
//
// As the last two lines show, type arguments in a pattern are ignored, while the
// number of a literal means exactly that literal and what is inside it. Such
// numbers change when the source does; prefer the holder.
//
// When later is inlined into outer, its literal is compiled as
// outer.later.func1. Both functions hold it. The name says outer's package only,
// so a pattern with a package finds it under later when both are in the same
// package:
//
//	pattern                            matches                                          does not match
//	main.outer                         main.outer.later.func1                           main.later.func1
//	main.later                         main.outer.later.func1                           main.outer.func1
//	later                              main.outer.later.func1                           main.outer.latest.func1
//	(*T).M                             main.outer.(*T).M.func1                          main.outer.(*T).N.func1
//
// That name has the form of a literal in a method later of a type outer. Since
// nothing in a name tells the two apart, main.later also matches the literals,
// though not the body, of such a method with a value receiver.
package pattern
