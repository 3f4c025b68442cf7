package run

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/sluicehq/sluice/domain/workflow"
)

// Secret is 256 bits that nobody outside the gateway knows, from which the resume
// tokens of a run are made: fresh random bits for each event, or, where tokens are
// to be shown again later, bits derived from the run's id and a key of the gateway.
type Secret [32]byte

// Token is the resume token of one pause: HMAC-SHA256 of run, node and the pause's
// Seq under the secret, 43 characters of base64url. It is empty without a secret.
func Token(s Secret, id ID, n workflow.NodeID, seq int64) string {
	if s == (Secret{}) {
		return ""
	}
	mac := hmac.New(sha256.New, s[:])
	mac.Write([]byte(string(id) + "\x00" + strconv.FormatInt(seq, 10) + "\x00" + string(n)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// hashToken is what is stored of a token.
func hashToken(token string) string {
	if token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Key is 256 bits that only the gateway knows, the same in all its processes, from
// which the secrets of runs are derived.
type Key [32]byte

// Secret is that of one run, HMAC-SHA256 of its id under the key, so that resume
// tokens can be shown again although only their hashes are stored. Without a key there is none.
func (k Key) Secret(id ID) (s Secret) {
	if k == (Key{}) {
		return s
	}
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte(id))
	mac.Sum(s[:0])
	return s
}

// Tokens are the resume tokens of the nodes that wait for one, made anew under the
// secret that made them; see [Token]. A node whose token was made under another secret
// is left out.
func (r *Run) Tokens(s Secret) map[workflow.NodeID]string {
	tokens := make(map[workflow.NodeID]string)
	for i := range r.state.Nodes {
		n := &r.state.Nodes[i]
		if n.Status != NodeWaiting || n.Pause.TokenHash == "" {
			continue
		}
		if token := Token(s, r.state.ID, n.ID, n.Pause.Seq); hashToken(token) == n.Pause.TokenHash {
			tokens[n.ID] = token
		}
	}
	return tokens
}
