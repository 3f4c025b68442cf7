package sqlstore

// Dialect is what differs between the databases.
type Dialect struct {
	// ForUpdate is appended to a SELECT whose rows the unit will change. It is empty
	// where writing units run one after another anyway.
	ForUpdate string

	// ClaimOutcome selects one row (free, fingerprint, answer) for an idempotency key:
	// whether no other unit holds the key, and what was recorded under it after a
	// time. Parameters: tenant, scope, key, time.
	ClaimOutcome string

	// Translate turns an error of the driver into one that the ports speak of. It
	// returns other errors as they are.
	Translate func(error) error
}

// Collision reports that a unit lost against another one that ran at the same
// time, or met a parent record that was just deleted, and should run again.
type Collision struct{ Cause error }

// Error names the cause.
func (c *Collision) Error() string { return "collided with another unit of work: " + c.Cause.Error() }

// Unwrap yields the cause.
func (c *Collision) Unwrap() error { return c.Cause }
