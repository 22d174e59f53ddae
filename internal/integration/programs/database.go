package main

import (
	"database/sql"
	"io"
	"net/http"
	"strings"

	_ "modernc.org/sqlite"

	"github.com/profguard/profguard/internal/integration/programs/shop"
)

// startSQLite searches with a query.
func startSQLite(w work) (string, error) {
	db, err := sql.Open("sqlite", "file::memory:?cache=shared")
	if err != nil {
		return "", err
	}
	db.SetMaxOpenConns(2)
	if err := fill(db, w.catalogue().Short()); err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /search", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o := shop.Decode(body)
		items, err := query(db, o.Text)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		shop.Inspect(o)
		w.Write(shop.Encode(o, items))
	})
	mux.HandleFunc("GET /tiny", func(w http.ResponseWriter, _ *http.Request) {
		var name string
		if err := db.QueryRow("SELECT name FROM items WHERE rowid = 1").Scan(&name); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		shop.Inspect(shop.Sample)
		io.WriteString(w, name)
	})
	return serve(mux)
}

func fill(db *sql.DB, items shop.Catalogue) error {
	if _, err := db.Exec("CREATE TABLE items (name TEXT, text TEXT, price REAL)"); err != nil {
		return err
	}
	for _, item := range items {
		if _, err := db.Exec("INSERT INTO items VALUES (?, ?, ?)", item.Name, item.Text, item.Price); err != nil {
			return err
		}
	}
	return nil
}

func query(db *sql.DB, text string) ([]shop.Item, error) {
	word, _, _ := strings.Cut(text, " ")
	rows, err := db.Query("SELECT name, text, price FROM items WHERE text LIKE ? ORDER BY price LIMIT 10", "%"+word+"%")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []shop.Item
	for rows.Next() {
		var item shop.Item
		if err := rows.Scan(&item.Name, &item.Text, &item.Price); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}
