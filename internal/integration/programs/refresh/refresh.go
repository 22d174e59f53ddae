// Package refresh is a library that starts a goroutine of its own and calls its user
// back from there.
package refresh

import "time"

// Start calls load again and again, with a pause between, until the process ends.
func Start(pause time.Duration, load func()) {
	r := &refresher{pause: pause, load: load}
	go r.run()
}

type refresher struct {
	pause time.Duration
	load  func()
	turns int
}

func (r *refresher) run() {
	for {
		r.turn()
		time.Sleep(r.pause)
	}
}

func (r *refresher) turn() {
	r.load()
	r.turns++
}
