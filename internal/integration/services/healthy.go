package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

// order is what the JSON API is about.
type order struct {
	ID    string            `json:"id"`
	Lines []line            `json:"lines"`
	Tags  map[string]string `json:"tags"`
}

type line struct {
	SKU      string  `json:"sku"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
}

// jsonAPI has one handler: it decodes an order, adds it up, encodes the answer.
func jsonAPI() (string, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var o order
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		total := 0.0
		for _, l := range o.Lines {
			total += float64(l.Quantity) * l.Price
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"order": o, "total": total})
	})
	return serve(mux)
}

func serve(h http.Handler) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go http.Serve(l, h)
	return l.Addr().String(), nil
}

// grpcServer is the server of gRPC's own interoperability tests.
func grpcServer() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := grpc.NewServer()
	testgrpc.RegisterTestServiceServer(s, interop.NewTestServer())
	go s.Serve(l)
	return l.Addr().String(), nil
}

// proxy hands bytes on: all that it does is syscalls. Whoever connects says in
// the first line where to.
func proxy() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go forward(c)
		}
	}()
	return l.Addr().String(), nil
}

func forward(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	target, err := in.ReadString('\n')
	if err != nil {
		return
	}
	up, err := net.Dial("tcp", strings.TrimSpace(target))
	if err != nil {
		return
	}
	defer up.Close()
	go func() {
		defer up.Close()
		io.Copy(up, in)
	}()
	io.Copy(c, up)
}

// batch works through records with all cores: workers take chunks from a
// channel, parse, match, hash and compress.
func batch() (string, error) {
	digits := regexp.MustCompile(`[0-9]{3}-[0-9]+`)
	chunks := make(chan []byte)
	go func() {
		for n := 0; ; n++ {
			chunks <- records(n, 500)
		}
	}()
	for range runtime.GOMAXPROCS(0) {
		go func() {
			var packed bytes.Buffer
			for chunk := range chunks {
				count := map[string]int{}
				for l := range strings.Lines(string(chunk)) {
					fields := strings.Split(l, ",")
					if digits.MatchString(l) {
						count[fields[0]]++
					}
				}
				sum := sha256.Sum256(chunk)
				packed.Reset()
				z := gzip.NewWriter(&packed)
				fmt.Fprintf(z, "%x %v", sum, count)
				z.Write(chunk)
				z.Close()
			}
		}()
	}
	return "", nil
}

func records(seed, n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "user%d,%03d-%d,some text that is the same each time,%d\n", (seed+i)%97, i%1000, seed, i*seed)
	}
	return b.Bytes()
}

// decoder does one thing in one goroutine: it decodes documents and keeps a few
// thousand, the worst for the collector that is still sound.
func decoder() (string, error) {
	doc := Order(50)
	go func() {
		kept := make([]order, 2000)
		for i := 0; ; i++ {
			var o order
			if err := json.Unmarshal(doc, &o); err != nil {
				panic(err)
			}
			kept[i%len(kept)] = o
		}
	}()
	return "", nil
}

// Order is a document for the JSON API.
func Order(lines int) []byte {
	o := order{ID: "o-1", Tags: map[string]string{"region": "eu", "channel": "web"}}
	for i := range lines {
		o.Lines = append(o.Lines, line{SKU: fmt.Sprintf("sku-%d", i), Quantity: i, Price: 1.5 * float64(i)})
	}
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return data
}

// pipeline is stages joined by channels, a record at a time, with a select in
// each, as people write them.
func pipeline() (string, error) {
	done := make(chan struct{})
	parsed, sorted := make(chan []string, 64), make(chan string, 64)
	source := strings.Fields(strings.Repeat("the quick brown fox jumps over the lazy dog ", 4))
	go func() {
		for {
			select {
			case parsed <- slices.Clone(source):
			case <-done:
				return
			}
		}
	}()
	go func() {
		for {
			select {
			case words := <-parsed:
				slices.Sort(words)
				select {
				case sorted <- strings.Join(words, " "):
				case <-done:
					return
				}
			case <-done:
				return
			}
		}
	}()
	go func() {
		seen := map[[32]byte]int{}
		for {
			select {
			case text := <-sorted:
				seen[sha256.Sum256([]byte(text))]++
			case <-done:
				return
			}
		}
	}()
	return "", nil
}

// idle waits for requests that do not come and looks at a directory each second.
func idle() (string, error) {
	go func() {
		for range time.Tick(time.Second) {
			os.ReadDir(os.TempDir())
		}
	}()
	return serve(http.NotFoundHandler())
}
