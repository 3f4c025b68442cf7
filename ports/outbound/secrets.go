package outbound

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// SecretField says where a secret is kept. A sealed value opens only where it was sealed for: one that was
// moved to another tenant, record or field does not.
type SecretField struct {
	Tenant tenant.ID // empty for what belongs to the gateway itself
	Record string    // its id, which with its prefix is that of no record of another table
	Field  string    // the column
}

// Keyset is what encrypts secrets, wrapped by a [KeyWrapper].
type Keyset struct {
	Revision int64 // raised by each change; 0 while there is none
	Wrapped  []byte
	Rotating bool          // its newest key was made by a rotation that has not come to its end
	Complete bool          // everything is sealed by its newest key
	Age      time.Duration // of its newest key, by the database's clock
}

// KeysetsOf reads the keyset in a unit of work of its own each time.
func KeysetsOf(work UnitOfWork) Keysets { return keysetsOf{work} }

type keysetsOf struct{ work UnitOfWork }

// Keyset returns the keyset.
func (k keysetsOf) Keyset(ctx context.Context) (found Keyset, err error) {
	err = k.work.Read(ctx, func(ctx context.Context, st Stores) error {
		found, err = st.Secrets.Keyset(ctx)
		return err
	})
	return found, err
}

// KeysetLifetime is how long a process seals by the keyset that it read last.
const KeysetLifetime = 15 * time.Second

// Keysets says what the keyset of the database is.
type Keysets interface {
	// Keyset returns the keyset, the zero value while there is none.
	Keyset(ctx context.Context) (Keyset, error)
}

// Cipher encrypts what the gateway must be able to give back in clear. It keeps the keyset that it read last:
// it reads it again after [KeysetLifetime] before it seals, and when something was sealed by a key that it does not know,
// so that processes learn of a rotation by themselves.
//
// Only adapters that store something call it, so that aggregates hold clear secrets and no use case has to remember. In
// adapters/sqlstore every unit offers it, with its own connection to read the keyset by: a repository writes
// unit.SealText(ctx, clear, field) into a text column or unit.Seal into a column of bytes, and gets it
// back by unit.OpenText and unit.Open once it has read all rows, since a connection that is in the middle of a query
// carries out no other. A value takes at most 37 bytes more than it has in clear, and a
// text a third more than that. The table gets a line in core.SealedColumns, by which its rows are found for
// a rotation and for sluice secrets check, and a new kind of secret a line in the test that looks for secrets in dumps
// (cmd/sluice/secrets_leak_test.go). Values may have several MiB.
type Cipher interface {
	// Seal encrypts a value for a field. Without a key it is Unavailable with the code encryption_key_missing,
	// and with one that does not fit the keyset Unavailable with the code encryption_key_wrong.
	Seal(ctx context.Context, keysets Keysets, plain []byte, of SecretField) ([]byte, error)

	// Open decrypts what was sealed for the field. What was not, was altered or was sealed by a key that is
	// not there is Unavailable with the code secret_unreadable. No error shows any of the value.
	Open(ctx context.Context, keysets Keysets, sealed []byte, of SecretField) ([]byte, error)

	// Prefix is what everything begins with that Seal gives from now on, and nothing that another key sealed: it
	// reads the keyset each time. Its errors are those of Seal.
	Prefix(ctx context.Context, keysets Keysets) ([]byte, error)
}

// KeysetMaker makes and changes keysets, all of them wrapped. Without a key its errors are those of [Cipher].
type KeysetMaker interface {
	// Make returns a new keyset.
	Make(ctx context.Context) (wrapped []byte, err error)

	// Rotate adds a key, by which everything is sealed from then on.
	Rotate(ctx context.Context, wrapped []byte) ([]byte, error)

	// Prune removes all keys but the newest ones.
	Prune(ctx context.Context, wrapped []byte, newest int) ([]byte, error)
}

// KeyWrapper encrypts the keyset by a key that is kept elsewhere than the database: in a file, in the
// environment, or in a key service. It is asked when the keyset is made, rotated and read, not for each secret.
type KeyWrapper interface {
	// Wrap encrypts a keyset, of less than 64 KiB. What it returns differs each time.
	Wrap(ctx context.Context, keyset []byte) ([]byte, error)

	// Unwrap gives back what Wrap was given, in any process that has the same key. What was altered or
	// wrapped by another key is an error that wraps [ErrWrongKey]; that the service cannot be reached is another.
	Unwrap(ctx context.Context, wrapped []byte) ([]byte, error)
}

// ErrWrongKey is what [KeyWrapper.Unwrap] returns, perhaps wrapped, of a keyset that its key does not open.
var ErrWrongKey = domain.Fail(domain.Unavailable, "encryption_key_wrong",
	"The gateway's encryption key is not the one that its secrets were encrypted with. Whoever operates it restores that key.")

// ErrKeyMissing is what needs a secret at rest and finds no key.
var ErrKeyMissing = domain.Fail(domain.Unavailable, "encryption_key_missing",
	"This keeps a secret, and the gateway has no key to encrypt it with. Whoever operates it sets SLUICE_ENCRYPTION_KEY to what sluice secrets generate-key prints.")

// SecretRepository keeps the keyset, and what else is secret of the gateway itself. It is not scoped to one tenant.
type SecretRepository interface {
	Keysets

	// InsertKeyset keeps the first keyset. Of two units that do so at the same time one commits; the other
	// runs again and finds it.
	InsertKeyset(ctx context.Context, wrapped []byte) error

	// BeginRotation keeps a keyset with a new key in place of one of the revision; a stale one is a Conflict.
	BeginRotation(ctx context.Context, from int64, wrapped []byte) error

	// EndRotation keeps a keyset by whose newest key everything is sealed, in the same way.
	EndRotation(ctx context.Context, from int64, wrapped []byte) error

	// GatewayKey returns the bits of a key of the gateway. The first call on a database keeps the proposed ones;
	// every other call, in any process, returns those. Its errors are those of [Cipher].
	GatewayKey(ctx context.Context, name string, proposed []byte) ([]byte, error)

	// CanSeal says whether secrets are sealed: not in an installation of 0.1.0 that has no key. Other
	// errors are those of [Cipher.Seal].
	CanSeal(ctx context.Context) (bool, error)
}

// SealedRepository goes through all sealed values, of all tenants. The zero cursor begins.
type SealedRepository interface {
	// Reseal seals some values anew, those that are in clear or sealed by an older key, and returns where to go on
	// and how many it sealed. It leaves alone what does not open, and what is in clear while processes are alive that
	// read nothing else. In a unit that only reads it seals nothing, and says how many it might have to. Without a key
	// its errors are those of [Cipher.Seal].
	Reseal(ctx context.Context, at SealedCursor) (next SealedCursor, resealed int, err error)

	// CheckSealed tries to open some values, and returns where to go on.
	CheckSealed(ctx context.Context, at SealedCursor) (next SealedCursor, found SealedValues, err error)

	// CountSealed says how many values there are, sealed or in clear.
	CountSealed(ctx context.Context) (int, error)

	// ForgetKeys removes the keys of the gateway, so that new ones are made.
	ForgetKeys(ctx context.Context) error
}

// SealedCursor is a place in the row of all sealed values.
type SealedCursor struct {
	Column int
	After  []string // the key of the last row that was looked at; empty at the begin of a column
	Left   int      // what Reseal left alone before it
	Done   bool
}

// SealedValues are values that were looked at.
type SealedValues struct {
	Sealed     int // by the newest key
	Older      int // by an older one
	Clear      int // not at all
	Unreadable []UnreadableSecret
}

// UnreadableSecret is a value that does not open.
type UnreadableSecret struct {
	Of     SecretField
	Table  string
	Reason string
}

// IsUnreadableSecret says whether an error is that of a sealed value that does not open.
func IsUnreadableSecret(err error) bool {
	e, ok := errors.AsType[*domain.Error](err)
	return ok && e.Code == "secret_unreadable"
}
