// Package dispatch hands requests to handlers, as routers and middlewares do.
package dispatch

// A Handler answers a request.
type Handler interface {
	Handle(request []byte) []byte
}

// Func is a function that is a Handler.
type Func func([]byte) []byte

// Handle calls the function.
func (f Func) Handle(request []byte) []byte { return f(request) }

// Recovered answers with nothing where the handler panics.
func Recovered(next Handler) Handler {
	return Func(func(request []byte) (answer []byte) {
		defer func() {
			if p := recover(); p != nil {
				answer = nil
			}
		}()
		return next.Handle(request)
	})
}

// Counted counts requests.
func Counted(n *int, next Handler) Handler {
	return Func(func(request []byte) []byte {
		*n++
		return next.Handle(request)
	})
}

// Serve hands the request to the handler until it is asked to stop.
func Serve(request []byte, h Handler, stop func() bool) {
	for !stop() {
		h.Handle(request)
	}
}
