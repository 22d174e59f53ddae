// Command ledger books payments and reports balances. releases_test.go builds it with changes.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/integration/releases/load"
)

// An entry is a payment.
type entry struct {
	Account string
	Cents   int64
	Kind    byte
}

// A record is an entry as it is stored.
type record struct {
	Account [12]byte
	Cents   int64
	Fee     int64
	Sum     uint32
}

var statement = func() (lines []string) {
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("acc-%04d;%d.%02d;%c", i*13%90, i*31, i*7%100, "abc"[i%3]))
	}
	return lines
}()

var balances = map[string]int64{}

func parse(line string) (e entry, err error) {
	account, rest, ok := strings.Cut(line, ";")
	amount, kind, more := strings.Cut(rest, ";")
	if !ok || !more || len(kind) != 1 {
		return e, errors.New("expected account;amount;kind")
	}
	whole, part, _ := strings.Cut(amount, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return e, err
	}
	cents, err := strconv.ParseInt(part, 10, 64)
	return entry{account, 100*n + cents, kind[0]}, err
}

func fee(cents int64, kind byte) (total int64) {
	for i := range int64(60) {
		total += (cents*(i+3) ^ int64(kind)) % 97
	}
	return total / 60
}

func store(b *bytes.Buffer, e entry) {
	r := record{Cents: e.Cents, Fee: fee(e.Cents, e.Kind)}
	copy(r.Account[:], e.Account)
	r.Sum = crc32.ChecksumIEEE(r.Account[:])
	binary.Write(b, binary.LittleEndian, &r)
}

func book(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	for _, line := range statement {
		e, err := parse(line)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		balances[e.Account] = (balances[e.Account] + e.Cents) % 1_000_000
		store(&b, e)
	}
	w.Write(b.Bytes())
}

func largest(accounts []string) []string {
	slices.SortFunc(accounts, func(a, b string) int {
		if d := balances[b] - balances[a]; d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
	return accounts[:min(10, len(accounts))]
}

func interest(cents int64) string {
	x := big.NewRat(cents, 100)
	for range 3 {
		x.Mul(x, big.NewRat(1003, 1000))
	}
	return x.FloatString(2)
}

func report(w http.ResponseWriter, r *http.Request) {
	var accounts []string
	for name := range balances {
		accounts = append(accounts, name)
	}
	for _, name := range largest(accounts) {
		fmt.Fprintf(w, "%s %s\n", name, interest(balances[name]))
	}
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/book", book)
	mux.HandleFunc("/report", report)
	load.Run("/book", "/report", mux)
}
