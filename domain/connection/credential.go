package connection

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// Credential is what a call with a connection bears, and where it may be sent. It hides
// what it holds when it is printed. The zero value bears nothing and may be sent nowhere.
type Credential struct {
	connection ID
	hosts      Hosts
	headers    []Field
	query      []Field
	signer     *signer
	client     *ClientCertificate
	redactor   Redactor
	access     Text
}

// Field is a header or a parameter that a call bears.
type Field struct {
	Name  string
	Value Text
}

// ClientCertificate is what a call shows for a client, in PEM.
type ClientCertificate struct {
	Certificate Text // with its chain, its own first
	PrivateKey  Text
	Authorities string // that the server's certificate has to be signed by; empty for the usual ones
}

// signer signs bodies.
type signer struct {
	key      Text
	header   string
	encoding Encoding
}

// Credential returns what calls bear. ok is false for OAuth, where that is an access token;
// see [Connection.CredentialOf].
func (c *Connection) Credential() (made Credential, ok bool) {
	s := c.state.Secret
	made = Credential{connection: c.state.ID, hosts: c.state.Hosts}
	switch s.kind {
	case Bearer:
		return c.CredentialOf(s.members[tokenMember]), true
	case Basic:
		pair := s.reveal(usernameMember) + ":" + s.reveal(passwordMember)
		made.headers = []Field{{"Authorization", NewText("Basic " + base64.StdEncoding.EncodeToString([]byte(pair)))}}
		// Some services take a secret for the user's name, and then no password.
		made.redactor = newRedactor(c.state.ID, cmp.Or(s.reveal(passwordMember), s.reveal(usernameMember)), pair)
	case Header:
		made.headers = s.fields()
		made.redactor = newRedactor(c.state.ID, valuesOf(made.headers)...)
	case Query:
		made.query = s.fields()
		made.redactor = newRedactor(c.state.ID, valuesOf(made.query)...)
	case HMAC:
		if key, given := s.members[keyMember]; given {
			made.signer = &signer{
				key: key, header: cmp.Or(s.reveal(headerMember), DefaultSignatureHeader),
				encoding: cmp.Or(Encoding(s.reveal(encodingMember)), Hex),
			}
			made.redactor = newRedactor(c.state.ID, key.Reveal())
		}
	case MTLS:
		made.client = &ClientCertificate{Certificate: s.members[certificateMember], PrivateKey: s.members[privateKeyMember], Authorities: s.reveal(caMember)}
		made.redactor = newRedactor(c.state.ID, s.reveal(privateKeyMember))
	default:
		return Credential{}, false
	}
	return made, true
}

// CredentialOf returns what calls bear with a token: the one of the connection itself, or an
// access token that was given out for it (RFC 6750, §2.1).
func (c *Connection) CredentialOf(token Text) Credential {
	var access Text
	if c.Kind().IsOAuth() {
		access = token
	}
	return Credential{
		access:     access,
		connection: c.state.ID, hosts: c.state.Hosts,
		headers:  []Field{{"Authorization", NewText("Bearer " + token.Reveal())}},
		redactor: newRedactor(c.state.ID, token.Reveal()),
	}
}

// fields are the members of a kind whose names are the client's.
func (s Secret) fields() []Field {
	fields := make([]Field, 0, len(s.members))
	for _, name := range s.names() {
		fields = append(fields, Field{name, s.members[name]})
	}
	return fields
}

func valuesOf(fields []Field) []string {
	values := make([]string, len(fields))
	for i, f := range fields {
		values[i] = f.Value.Reveal()
	}
	return values
}

// Connection is whose credential it is.
func (c Credential) Connection() ID { return c.connection }

// Reaches says whether the credential may be sent to a target.
func (c Credential) Reaches(t Target) bool { return c.hosts.Cover(t) }

// Headers are those that a call bears, in place of any others of the same names.
func (c Credential) Headers() []Field { return c.headers }

// Query are the parameters that a call bears, in place of any others of the same names.
func (c Credential) Query() []Field { return c.query }

// Sign returns the header that signs a body, HMAC-SHA256. ok is false when the credential
// signs none.
func (c Credential) Sign(body []byte) (header, value string, ok bool) {
	if c.signer == nil {
		return "", "", false
	}
	mac := hmac.New(sha256.New, []byte(c.signer.key.Reveal()))
	mac.Write(body)
	if c.signer.encoding == Base64 {
		return c.signer.header, base64.StdEncoding.EncodeToString(mac.Sum(nil)), true
	}
	return c.signer.header, hex.EncodeToString(mac.Sum(nil)), true
}

// ClientCertificate is what the client shows in TLS; ok is false when it shows none.
func (c Credential) ClientCertificate() (shown ClientCertificate, ok bool) {
	if c.client == nil {
		return shown, false
	}
	return *c.client, true
}

// AccessToken is the one that it bears for a connection of an OAuth kind, which may be asked for anew when it is
// refused; none for others.
func (c Credential) AccessToken() Text { return c.access }

// Redactor finds the secret in what comes back.
func (c Credential) Redactor() Redactor { return c.redactor }

// IsZero says whether it bears nothing.
func (c Credential) IsZero() bool { return c.connection == "" }

// String names the connection and hides the rest.
func (c Credential) String() string { return "credential of " + string(c.connection) }

// GoString hides the rest.
func (c Credential) GoString() string { return c.String() }
