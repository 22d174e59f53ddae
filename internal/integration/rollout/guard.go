//go:build !plain

package main

import (
	"log"
	"log/slog"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

// watch starts the guard, without a pause between windows.
func watch() {
	_, err := guard.Start(guard.Config{
		FunctionSeries: 50, Every: time.Second, Window: time.Second, Logger: slog.New(slog.DiscardHandler),
		Budgets: budget.Must("each: no function above 99%", "process below 1s per requests_total"),
	})
	if err != nil {
		log.Fatal(err)
	}
}
