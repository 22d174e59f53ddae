// Command sigprof runs a guard in a process whose SIGPROF is not what it should
// be, and prints what became of its windows:
//
//	keep     all is well, the clean twin
//	replace  a C library has replaced the handler of the signal
//	flood    a C thread has so many samples that the runtime loses most of them
package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void ignore(int sig) {}

static int replace(void) {
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = ignore;
	sa.sa_flags = SA_ONSTACK | SA_RESTART;
	return sigaction(SIGPROF, &sa, NULL);
}

// To the runtime, a SIGPROF that somebody sends is a sample like its timer's: it need
// not be waited for, nor CPU be burnt.
static void *samples(void *arg) {
	for (;;) {
		for (int i = 0; i < 1000; i++)
			pthread_kill(pthread_self(), SIGPROF);
		usleep(100000);
	}
}

static int flood(void) {
	pthread_t t;
	return pthread_create(&t, NULL, samples, NULL);
}
*/
import "C"

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/process"
)

func main() {
	burns, enough := 600*time.Millisecond, 300*time.Millisecond // below 250 ms nobody expects a sample
	var rc C.int
	switch os.Args[1] {
	case "replace":
		rc = C.replace()
	case "flood":
		// The runtime has room for 333 samples of threads that are not Go's, until it next
		// takes one of a thread that is.
		burns, enough = 0, 0
		rc = C.flood()
	}
	if rc != 0 {
		fmt.Println("the fault cannot be brought about:", rc)
		os.Exit(1)
	}
	// On an overloaded machine a window has too little CPU time to tell: there are
	// three tries, each longer.
	window := time.Second
	for range 3 {
		s := watch(window, burns)
		if used := time.Duration(s.Window.Cores * float64(s.Window.Elapsed)); used < enough {
			window *= 2
			continue
		}
		v := s.Budgets[0].Verdicts
		fmt.Printf("%s: %s\n%d windows, %d passed, %d failed\n", s.Window.Outcome, s.Window.Reason, v["inconclusive"]+v["pass"]+v["fail"], v["pass"], v["fail"])
		return
	}
	fmt.Println("overloaded")
}

// watch is what a guard says of its first window, in which so much CPU is used.
func watch(window, burns time.Duration) guard.Status {
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must("main.watch below 50%"), Every: window, Window: window,
		Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer g.Stop()
	go burn(burns)
	for {
		if s := g.Status(); s.Window.Outcome != "" && len(s.Budgets[0].Verdicts) > 0 {
			return s
		}
		<-time.After(window / 3)
	}
}

// burn uses d of CPU time, however long that takes on a busy machine.
func burn(d time.Duration) {
	for end := process.Read().CPU + d; process.Read().CPU < end; {
		for x, start := 1, time.Now(); time.Since(start) < time.Millisecond; x = x*31 + 1 {
		}
	}
}
