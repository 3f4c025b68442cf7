package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Secrets is what the operator does for the encryption of secrets.
type Secrets interface {
	// Prepare makes the keyset of a database that has none. Without a key it is Unavailable with the code
	// encryption_key_missing. It says nothing of whether the key fits a keyset that is there.
	Prepare(ctx context.Context) error

	// Rotate adds a key, and encrypts everything anew by it, in batches, while others work and
	// while others do the same. What was interrupted goes on where the database is, without another key. What cannot be
	// decrypted stays as it is. Errors are those of a key that is missing, or is not the one of the keyset.
	Rotate(ctx context.Context, progress func(RotationProgress)) (Rotated, error)

	// Replace makes a keyset in place of one whose key is lost, and gives up everything that it encrypted. With a key
	// that opens the keyset it is a Conflict with the code encryption_key_not_lost.
	Replace(ctx context.Context) error

	// Check tries to decrypt everything.
	Check(ctx context.Context) (SecretsChecked, error)

	// Complete encrypts what is in clear, and what is encrypted by an older key, in batches. It returns how much it was.
	// Where that was done before, or is not possible yet, it does nothing.
	Complete(ctx context.Context) (resealed int, err error)
}

// RotationProgress is how far a rotation is.
type RotationProgress struct {
	Resumed bool // it goes on with one that was interrupted
	Waiting bool // it waits until no other process uses the key before
	Done    int  // values that it has encrypted anew
	Total   int  // values that there were when it began
}

// Rotated is what became of a rotation.
type Rotated struct {
	Resealed int // values that were encrypted anew
	Left     int // values that could not be decrypted, or stay in clear while an upgrade is in progress
}

// SecretsChecked is what a check of all values found.
type SecretsChecked struct {
	Sealed     int // encrypted by the newest key
	Older      int // encrypted by an older one
	Clear      int // not encrypted
	Unreadable []UnreadableSecret
}

// UnreadableSecret is a value that cannot be decrypted.
type UnreadableSecret struct {
	Tenant tenant.ID // empty for what belongs to the gateway
	Kind   string    // the table that holds it
	Record string
	Field  string
	Reason string
}
