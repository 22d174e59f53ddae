package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"
)

// The names of a short blocklist, 14,800, come in parts, so that the text of all of
// them is never in memory.
const (
	lists        = 8
	namesPerList = 1850
)

// list is the text of one, as its publisher sends it.
func list(i int) []byte {
	text := make([]byte, 0, 17*namesPerList) // no name is longer
	for j := range namesPerList {
		text = fmt.Appendf(text, "%s\n", tracker(i, j))
	}
	return text
}

func tracker(i, j int) string { return fmt.Sprintf("t%d-%d.ads.test", i, j) }

// apps ask for 500 names a second, until ctx ends. They ask at random: a ticker
// would run in step with the clock of the profiler.
func apps(ctx context.Context, extension net.Addr) {
	conn, err := net.Dial("udp", extension.String())
	if err != nil {
		return // no network, nothing to ask
	}
	defer conn.Close()
	answer := make([]byte, 1500)
	for sleep(ctx, time.Duration(rand.ExpFloat64()*float64(2*time.Millisecond))) == nil {
		// Half of the names are on a list.
		ask(conn, tracker(rand.IntN(2*lists), rand.IntN(namesPerList)), answer)
	}
}

// sleep sleeps, or says why not.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask sends a DNS question, and reads the answer if there is one.
func ask(conn net.Conn, name string, answer []byte) {
	packet := make([]byte, 12, 128)
	packet[5] = 1 // question
	for label := range strings.SplitSeq(name, ".") {
		packet = append(append(packet, byte(len(label))), label...)
	}
	packet = append(packet, 0, 0, 1, 0, 1) // end of name, type A, class IN
	_, _ = conn.Write(packet)
	_ = conn.SetReadDeadline(time.Now().Add(time.Second)) // UDP may lose packets
	_, _ = conn.Read(answer)
}
