package integration

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"

	"github.com/profguard/profguard/guard"
)

// TestRouters mounts the page in routers that have wildcards, as docs/service.md says.
func TestRouters(t *testing.T) {
	page := http.StripPrefix("/debug/profguard", start(t, guard.Config{}).Handler())

	c := chi.NewRouter()
	c.Handle("/debug/profguard/*", page)
	e := echo.New()
	e.Any("/debug/profguard/*", echo.WrapHandler(page))
	gin.SetMode(gin.ReleaseMode)
	n := gin.New()
	n.Any("/debug/profguard/*any", gin.WrapH(page))

	for name, router := range map[string]http.Handler{"chi": c, "echo": e, "gin": n} {
		for path, content := range map[string]string{
			"/debug/profguard/":            "text/html; charset=utf-8",
			"/debug/profguard/status.json": "application/json",
			"/debug/profguard/budgets":     "text/plain; charset=utf-8",
		} {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = "localhost"
			w := httptest.NewRecorder()
			router.ServeHTTP(w, r)
			if got := w.Header().Get("Content-Type"); w.Code != 200 || got != content {
				t.Errorf("%s, %s: %d, %s, want %s", name, path, w.Code, got, content)
			}
		}
	}
}
