// Command small is a program without a server, which is quick to build: it is built in
// all the ways that Go programs are, and profiles itself.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"sort"
	"strings"

	"github.com/profguard/profguard/internal/integration/programs/small/dispatch"
)

type order struct {
	Name  string   `json:"name"`
	Items []string `json:"items"`
}

type handler struct{}

// Handle reads an order, checks its name and sorts its items.
func (h *handler) Handle(request []byte) []byte {
	var o order
	if err := json.Unmarshal(request, &o); err != nil || !valid(o.Name) {
		return nil
	}
	sort.Slice(o.Items, func(i, j int) bool { return key(o.Items[i]) < key(o.Items[j]) })
	answer, err := json.Marshal(o)
	if err != nil {
		return nil
	}
	return answer
}

func key(item string) string { return strings.ToUpper(item) }

// valid compiles an expression for each order: the mistake that is to be found.
func valid(name string) bool {
	return regexp.MustCompile(`^[a-z0-9._%+-]{1,32}@([a-z0-9-]{1,32}\.){1,4}[a-z]{2,16}$`).MatchString(name)
}

// serve serves so many requests.
func serve(requests int) {
	request := []byte(`{"name":"anna@shop.example.com","items":["kettle","lamp","oak","copper","rack","tray","stool","pan"]}`)
	// The collector takes the more the less else the machine has to do. Here it takes little.
	debug.SetGCPercent(400)
	n := 0
	dispatch.Serve(request, dispatch.Recovered(dispatch.Counted(&n, &handler{})), func() bool { return n == requests })
}

// enough requests take about two seconds of CPU time.
const enough = 36_000

func main() {
	if err := pprof.StartCPUProfile(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer pprof.StopCPUProfile()
	serve(enough)
}
