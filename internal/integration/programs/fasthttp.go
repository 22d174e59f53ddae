package main

import (
	"log/slog"
	"net"
	"time"

	fiber2 "github.com/gofiber/fiber/v2"
	recover2 "github.com/gofiber/fiber/v2/middleware/recover"
	requestid2 "github.com/gofiber/fiber/v2/middleware/requestid"
	fiber3 "github.com/gofiber/fiber/v3"
	recover3 "github.com/gofiber/fiber/v3/middleware/recover"
	requestid3 "github.com/gofiber/fiber/v3/middleware/requestid"
	"github.com/valyala/fasthttp"

	"github.com/profguard/profguard/internal/integration/programs/shop"
)

// startFastHTTP has middlewares as its users write them: closures that call the next.
func startFastHTTP(w work) (string, error) {
	catalogue := w.catalogue()
	return inBackground(func(l net.Listener) error {
		return fasthttp.Serve(l, fastRecovered(fastTimed(func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/tiny" {
				shop.Inspect(shop.Sample)
				ctx.WriteString("ok")
				return
			}
			o := shop.Decode(ctx.PostBody())
			items := shop.Rank(catalogue.Search(o.Text))
			shop.Inspect(o)
			ctx.Write(shop.Encode(o, items))
		})))
	})
}

func fastRecovered(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer func() {
			if p := recover(); p != nil {
				ctx.Error("sorry", fasthttp.StatusInternalServerError)
			}
		}()
		next(ctx)
	}
}

func fastTimed(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		start := time.Now()
		next(ctx)
		slog.Debug("request", "path", ctx.Path(), "took", time.Since(start))
	}
}

func startFiber2(w work) (string, error) {
	catalogue := w.catalogue()
	app := fiber2.New(fiber2.Config{DisableStartupMessage: true})
	app.Use(recover2.New(), requestid2.New())
	app.Post("/search", func(c *fiber2.Ctx) error {
		var o shop.Order
		if err := c.BodyParser(&o); err != nil {
			return err
		}
		items := shop.Rank(catalogue.Search(o.Text))
		shop.Inspect(o)
		return c.JSON(fiber2.Map{"id": o.ID, "items": items})
	})
	app.Get("/tiny", func(c *fiber2.Ctx) error {
		shop.Inspect(shop.Sample)
		return c.SendString("ok")
	})
	return inBackground(app.Listener)
}

func startFiber3(w work) (string, error) {
	catalogue := w.catalogue()
	app := fiber3.New()
	app.Use(recover3.New(), requestid3.New())
	app.Post("/search", func(c fiber3.Ctx) error {
		var o shop.Order
		if err := c.Bind().Body(&o); err != nil {
			return err
		}
		items := shop.Rank(catalogue.Search(o.Text))
		shop.Inspect(o)
		return c.JSON(fiber3.Map{"id": o.ID, "items": items})
	})
	app.Get("/tiny", func(c fiber3.Ctx) error {
		shop.Inspect(shop.Sample)
		return c.SendString("ok")
	})
	return inBackground(func(l net.Listener) error {
		return app.Listener(l, fiber3.ListenConfig{DisableStartupMessage: true})
	})
}

func inBackground(serve func(net.Listener) error) (string, error) {
	l, err := listen()
	if err != nil {
		return "", err
	}
	go serve(l)
	return l.Addr().String(), nil
}
