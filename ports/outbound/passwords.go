package outbound

import "context"

// PasswordMemory is what hashing one password takes, in bytes.
const PasswordMemory = 19 << 20

// Passwords turns passwords into hashes that can be kept, and checks them. Both take time and memory on purpose.
// Who has to wait for the memory for too long is told Unavailable, with the code sign_in_busy; ctx ending is an
// error that wraps its cause.
type Passwords interface {
	// Hash returns a text that Verify takes, another one each time. It checks no rule: what may be chosen is the
	// domain's to say. The same characters are the same password, in whichever of Unicode's ways they are
	// written.
	Hash(ctx context.Context, password string) (hash string, err error)

	// Verify says whether the password is the one of the hash. An empty hash is that of nobody: no password is
	// right, and it takes as long to say so, so that the time of an answer does not tell whether there is an
	// account. A hash that cannot be read is an Internal error.
	Verify(ctx context.Context, hash, password string) (bool, error)
}
