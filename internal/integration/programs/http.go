package main

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/profguard/profguard/internal/integration/programs/shop"
)

// startNetHTTP is the standard library alone, with two middlewares of the user's own.
func startNetHTTP(w work) (string, error) {
	catalogue := w.catalogue()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /search", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o := shop.Decode(body)
		items := shop.Rank(catalogue.Search(o.Text))
		shop.Inspect(o)
		w.Write(shop.Encode(o, items))
	})
	mux.HandleFunc("GET /tiny", func(w http.ResponseWriter, _ *http.Request) {
		shop.Inspect(shop.Sample)
		io.WriteString(w, "ok")
	})
	return serve(recovered(timed(mux)))
}

func recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				http.Error(w, "sorry", http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		next.ServeHTTP(w, r)
		slog.Debug("request", "path", r.URL.Path, "took", time.Since(start))
	})
}

func startChi(w work) (string, error) {
	catalogue := w.catalogue()
	r := chi.NewRouter()
	r.Use(chimiddleware.RequestID, chimiddleware.Recoverer, chimiddleware.StripSlashes, chimiddleware.NoCache)
	r.Post("/search", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o := shop.Decode(body)
		items := shop.Rank(catalogue.Search(o.Text))
		shop.Inspect(o)
		w.Write(shop.Encode(o, items))
	})
	r.Get("/tiny", func(w http.ResponseWriter, _ *http.Request) {
		shop.Inspect(shop.Sample)
		io.WriteString(w, "ok")
	})
	return serve(r)
}

func startGin(w work) (string, error) {
	gin.SetMode(gin.ReleaseMode)
	catalogue := w.catalogue()
	e := gin.New()
	e.Use(gin.Recovery(), func(c *gin.Context) {
		start := time.Now()
		c.Next()
		slog.Debug("request", "path", c.FullPath(), "took", time.Since(start))
	})
	e.POST("/search", func(c *gin.Context) {
		var o shop.Order
		if err := c.ShouldBindJSON(&o); err != nil {
			c.AbortWithStatus(http.StatusBadRequest)
			return
		}
		items := shop.Rank(catalogue.Search(o.Text))
		shop.Inspect(o)
		c.JSON(http.StatusOK, gin.H{"id": o.ID, "items": items})
	})
	e.GET("/tiny", func(c *gin.Context) {
		shop.Inspect(shop.Sample)
		c.String(http.StatusOK, "ok")
	})
	return serve(e)
}

func startEcho(w work) (string, error) {
	catalogue := w.catalogue()
	e := echo.New()
	e.Use(echomiddleware.Recover(), echomiddleware.RequestID(), echomiddleware.Secure())
	e.POST("/search", func(c echo.Context) error {
		var o shop.Order
		if err := c.Bind(&o); err != nil {
			return err
		}
		items := shop.Rank(catalogue.Search(o.Text))
		shop.Inspect(o)
		return c.JSON(http.StatusOK, map[string]any{"id": o.ID, "items": items})
	})
	e.GET("/tiny", func(c echo.Context) error {
		shop.Inspect(shop.Sample)
		return c.String(http.StatusOK, "ok")
	})
	return serve(e)
}

func serve(h http.Handler) (string, error) {
	l, err := listen()
	if err != nil {
		return "", err
	}
	go http.Serve(l, h)
	return l.Addr().String(), nil
}

func listen() (net.Listener, error) { return net.Listen("tcp4", "127.0.0.1:0") }
