package run

import (
	"crypto/hmac"
	"crypto/sha256"
)

// Key is 256 bits that only the gateway knows, the same in all its processes, from
// which the secrets of runs are derived.
type Key [32]byte

// Secret is that of one run, HMAC-SHA256 of its id under the key, so that resume
// tokens can be shown again although only their hashes are stored.
func (k Key) Secret(id ID) (s Secret) {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte(id))
	mac.Sum(s[:0])
	return s
}
