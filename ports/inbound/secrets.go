package inbound

import "context"

// Secrets is what the operator does for the encryption of secrets.
type Secrets interface {
	// Prepare makes the keyset of a database that has none. Without a key it is Unavailable with the code
	// encryption_key_missing. It says nothing of whether the key fits a keyset that is there.
	Prepare(ctx context.Context) error
}
