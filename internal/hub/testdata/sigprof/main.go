// Command sigprof takes a window in a process whose SIGPROF handler a C library
// may have replaced (argument "replace"), and prints its outcome and reason.
package main

/*
#include <signal.h>
#include <string.h>

static void ignore(int sig) {}

static int replace(void) {
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = ignore;
	sa.sa_flags = SA_ONSTACK | SA_RESTART;
	return sigaction(SIGPROF, &sa, NULL);
}
*/
import "C"

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/hub"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "replace" {
		if rc, err := C.replace(); rc != 0 {
			fmt.Println("sigaction:", err)
			os.Exit(1)
		}
	}
	go func() {
		for x := 1; ; x = x*31 + 1 {
		}
	}()
	var w hub.Window
	// On an overloaded machine a window may be too long, or have too little CPU
	// time to tell: it gets longer until it tells.
	for d := 500 * time.Millisecond; d < 10*time.Second; d *= 2 {
		var err error
		if w, err = hub.Process().Capture(context.Background(), d); err != nil {
			continue
		}
		var dec decode.Decoder
		table, err := dec.Bytes(w.Data)
		if err != nil {
			fmt.Println("decode:", err)
			os.Exit(1)
		}
		if hub.Check(&w, table); w.CPU > 300*time.Millisecond {
			break
		}
	}
	fmt.Printf("%v: %s\n", w.Outcome, w.Reason)
}
