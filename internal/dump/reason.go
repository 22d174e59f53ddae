package dump

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"
)

// Errors that the package makes itself. They arrive wrapped, with what was
// found and what to do; [Reason] sorts these and the system's into a few words.
var (
	// ErrInvalid: the caller passed something that cannot be.
	ErrInvalid = errors.New("invalid value")
	// ErrTooSoon: the budget has had its dump for this Keep.Interval.
	ErrTooSoon = errors.New("too soon after the budget's last dump")
	// ErrLimit: the caps of Keep are full of dumps that must not go.
	ErrLimit = errors.New("retention limit reached")
	// ErrNoSpace: less than Keep.Free of the disk would be left.
	ErrNoSpace = errors.New("not enough free disk space")
	// ErrBusy: another process holds the directory's lock, or the queue is full.
	ErrBusy = errors.New("busy")
	// ErrRefused: the directory, or something found in it, is not safe to use.
	ErrRefused = errors.New("refused as unsafe")
)

// Reasons are the words of [Reason].
func Reasons() []string {
	return []string{"invalid", "too_soon", "limit", "no_space", "refused", "permission", "busy", "closed", "gone", "short_write", "other"}
}

// Reason sorts an error of this package into one of a few words, fit for a
// metric's label; "" for nil.
func Reason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrInvalid):
		return "invalid"
	case errors.Is(err, ErrTooSoon):
		return "too_soon"
	case errors.Is(err, ErrLimit):
		return "limit"
	case errors.Is(err, ErrNoSpace) || isNoSpace(err):
		return "no_space"
	case errors.Is(err, ErrRefused):
		return "refused"
	case errors.Is(err, fs.ErrPermission) || isReadOnly(err):
		return "permission"
	case errors.Is(err, ErrBusy) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return "busy"
	case errors.Is(err, fs.ErrClosed):
		return "closed"
	case errors.Is(err, fs.ErrNotExist):
		return "gone"
	case errors.Is(err, io.ErrShortWrite):
		return "short_write"
	}
	return "other"
}

// Hourly decides what is worth a log line when the same thing fails again and
// again: each reason once an hour. The zero value is ready. It is not safe for
// concurrent use.
type Hourly struct {
	said map[string]time.Time
}

// Say reports whether reason was not said within the hour before now, and if so
// notes that it is being said.
func (h *Hourly) Say(reason string, now time.Time) bool {
	last, ok := h.said[reason]
	if ok && now.Sub(last) < time.Hour {
		return false
	}
	if h.said == nil {
		h.said = make(map[string]time.Time)
	}
	h.said[reason] = now
	return true
}
