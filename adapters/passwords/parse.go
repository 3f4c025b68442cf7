package passwords

import (
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"

	"github.com/sluicehq/sluice/domain"
)

// What a hash may ask for at most: the memory that is reserved for it, and a time in which nobody else is kept waiting
// for long.
const (
	maxPasses = 16
	maxBytes  = 64 // of a salt, and of a key
	minBytes  = 8
)

// parse reads a hash. It may have been made with less than is asked for now, never with more.
func parse(text string) (phc, error) {
	var h phc
	var version, parallel int
	fields := strings.Split(text, "$")
	unreadable := domain.Fail(domain.Internal, "password_unreadable", "The hash of a password cannot be read.")
	if len(fields) != 6 {
		return h, unreadable
	}
	begin := strings.Join(fields[:4], "$")
	if _, err := fmt.Sscanf(begin, "$argon2id$v=%d$m=%d,t=%d,p=%d", &version, &h.memory, &h.passes, &parallel); err != nil {
		return h, unreadable // its error may repeat the hash
	}
	var errSalt, errKey error
	h.salt, errSalt = base64.RawStdEncoding.DecodeString(fields[4])
	h.key, errKey = base64.RawStdEncoding.DecodeString(fields[5])
	switch {
	case errSalt != nil || errKey != nil || h.String() != text, // something is left over, or is written otherwise
		version != argon2.Version, parallel != threads,
		h.memory < 8 || h.memory > memory, h.passes < 1 || h.passes > maxPasses,
		outside(h.salt), outside(h.key):
		return h, unreadable
	}
	return h, nil
}

func outside(part []byte) bool { return len(part) < minBytes || len(part) > maxBytes }
