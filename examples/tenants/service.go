package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	_ "modernc.org/sqlite" // the driver

	"github.com/profguard/profguard/label"
)

// A service keeps the notes of all tenants in one database.
type service struct {
	db     *sql.DB
	dir    string
	server *http.Server
	url    string
	served sync.WaitGroup
}

// tenantHeader says who asks. A real service knows it from a token.
const tenantHeader = "X-Tenant"

// open fills a database and serves it on loopback.
func open(ctx context.Context) (*service, error) {
	dir, err := os.MkdirTemp("", "profguard-tenants-")
	if err != nil {
		return nil, err
	}
	s := &service{dir: dir}
	if s.db, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "notes.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)"); err == nil {
		err = s.fill(ctx)
	}
	var l net.Listener
	if err == nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		s.close()
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /notes/{id}", s.note)
	mux.HandleFunc("GET /titles/{title}", s.search)
	s.url = "http://" + l.Addr().String()
	s.server = &http.Server{Handler: byTenant(label.Handler(mux))}
	s.served.Go(func() { _ = s.server.Serve(l) })
	return s, nil
}

// byTenant labels all that is done for a tenant.
func byTenant(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		label.Request(r, "tenant", r.Header.Get(tenantHeader), func(r *http.Request) { next.ServeHTTP(w, r) })
	})
}

// notes is how many there are.
const notes = 50_000

func (s *service) fill(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT)"); err != nil {
		return err
	}
	_, err := s.db.ExecContext(ctx, `WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n WHERE id + 1 < ?)
		INSERT INTO notes SELECT id, 'note-' || id, 'the text of note ' || id FROM n`, notes)
	return err
}

func titleOf(id int) string { return fmt.Sprintf("note-%d", id) }

// note is one by its key.
func (s *service) note(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "SELECT title, body FROM notes WHERE id = ?", r.PathValue("id"))
}

// search is one by its title.
func (s *service) search(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "SELECT title, body FROM notes WHERE title = ?", r.PathValue("title"))
}

func (s *service) answer(w http.ResponseWriter, r *http.Request, query string, key string) {
	var title, body string
	switch err := s.db.QueryRowContext(r.Context(), query, key).Scan(&title, &body); {
	case errors.Is(err, sql.ErrNoRows):
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		fmt.Fprintf(w, "%s: %s\n", title, body)
	}
}

// index is the fix.
func (s *service) index(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "CREATE INDEX titles ON notes (title)")
	return err
}

func (s *service) close() {
	if s.server != nil {
		_ = s.server.Close()
		s.served.Wait()
	}
	if s.db != nil {
		_ = s.db.Close()
	}
	_ = os.RemoveAll(s.dir)
}
