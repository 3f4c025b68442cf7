package hook

import (
	"github.com/sluicehq/sluice/domain/connection"
)

// SecretsOf are what a connection holds that deliveries can be verified with; none for a kind that holds nothing
// of the sort, or a key that cannot be read.
func SecretsOf(c *connection.Connection) (all []Secret) {
	id, of := string(c.ID()), c.Secret()
	member := func(name string) (string, bool) {
		text, ok := of.Member(name)
		return text.Reveal(), ok && text.Reveal() != ""
	}
	switch c.Kind() {
	case connection.HMAC:
		if key, ok := member("key"); ok {
			all = append(all, NewText(id, key))
		}
		if key, ok := member("publicKey"); ok {
			if public, err := NewPublicKey(id, key); err == nil {
				all = append(all, public)
			}
		}
	case connection.Bearer:
		if token, ok := member("token"); ok {
			all = append(all, NewText(id, token))
		}
	case connection.Basic:
		user, _ := member("username")
		password, _ := member("password")
		all = append(all, NewCredentials(id, user, password))
	case connection.Header, connection.Query:
		credential, _ := c.Credential()
		for _, f := range append(credential.Headers(), credential.Query()...) {
			all = append(all, NewText(id, f.Value.Reveal()))
		}
	}
	return all
}
