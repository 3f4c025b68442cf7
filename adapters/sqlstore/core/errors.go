package core

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Unavailable is the error of a database that cannot be reached at the moment.
func Unavailable(cause error) *domain.Error {
	e := domain.Fail(domain.Unavailable, "database_unavailable", "The database cannot be reached. Try again in a moment.")
	e.RetryAfter = time.Second
	return e.Because(cause)
}

// Busy says that the database takes too long.
func Busy(cause error) error {
	e := domain.Fail(domain.Unavailable, "database_busy", "The database is busy. Try again in a second.")
	e.RetryAfter = time.Second
	return e.Because(cause)
}

// Collision reports that a unit lost against another one that ran at the same
// time, or met a parent record that was just deleted, and should run again.
type Collision struct{ Cause error }

// Error names the cause.
func (c *Collision) Error() string { return "collided with another unit of work: " + c.Cause.Error() }

// Unwrap yields the cause.
func (c *Collision) Unwrap() error { return c.Cause }

func isCollision(err error) bool {
	var collision *Collision
	return errors.As(err, &collision)
}

// IsContext says whether an error means that a context has ended.
func IsContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
