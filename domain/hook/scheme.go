package hook

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Kind is a way of proving who sends.
type Kind string

// The kinds.
const (
	KindHMAC         Kind = "hmac"         // a signature by a shared key
	KindEd25519      Kind = "ed25519"      // a signature by the sender's key
	KindSecretHeader Kind = "secretHeader" // the secret in a header
	KindBasic        Kind = "basic"        // user name and password (RFC 7617)
	KindBearer       Kind = "bearer"       // a token in Authorization (RFC 6750, §2.1)
	KindURLSecret    Kind = "urlSecret"    // the secret in a parameter of the query
	KindNone         Kind = "none"         // nothing: whoever knows the address starts runs

	kindBodySecret Kind = "bodySecret" // the secret in members of the body; of presets only
)

// Kinds lists those that a client can describe.
func Kinds() []Kind {
	return []Kind{KindHMAC, KindEd25519, KindSecretHeader, KindBasic, KindBearer, KindURLSecret, KindNone}
}

// Preset names a sender whose scheme is known.
type Preset string

// The presets.
const (
	GitHub         Preset = "github"
	Stripe         Preset = "stripe"
	Slack          Preset = "slack"
	Shopify        Preset = "shopify"
	Standard       Preset = "standard" // Standard Webhooks, Svix among them
	GitLab         Preset = "gitlab"
	Twilio         Preset = "twilio"
	HubSpot        Preset = "hubspot"
	Linear         Preset = "linear"
	Zendesk        Preset = "zendesk"
	Paddle         Preset = "paddle"
	Square         Preset = "square"
	Discord        Preset = "discord"
	Meta           Preset = "meta"
	Dropbox        Preset = "dropbox"
	MicrosoftGraph Preset = "microsoft-graph"
)

// Presets lists every preset.
func Presets() []Preset {
	return []Preset{
		GitHub, Stripe, Slack, Shopify, Standard, GitLab, Twilio, HubSpot,
		Linear, Zendesk, Paddle, Square, Discord, Meta, Dropbox, MicrosoftGraph,
	}
}

// Algorithm is a hash function under an HMAC.
type Algorithm string

// The algorithms.
const (
	SHA1   Algorithm = "sha1"
	SHA256 Algorithm = "sha256"
	SHA512 Algorithm = "sha512"
)

// Encoding is how bytes are written as text.
type Encoding string

// The encodings.
const (
	Hex       Encoding = "hex"
	Base64    Encoding = "base64"    // with padding
	Base64URL Encoding = "base64url" // with or without padding
)

// Unit is how a sender writes a time.
type Unit string

// The units.
const (
	Seconds      Unit = "seconds" // since 1970
	Milliseconds Unit = "milliseconds"
	RFC3339      Unit = "rfc3339"
)

// Scheme is how a sender proves who it is. The zero value verifies nothing. Build one with
// [ParseScheme] or [RestoreScheme].
type Scheme struct {
	document domain.Document
	preset   Preset // empty for a kind that a client described
	methods  []method
}

// method is one way of proving; a sender may have several.
type method struct {
	kind   Kind
	header string // lower case: where the signature or secret is

	algorithm Algorithm
	encoding  Encoding
	anyCase   bool     // hexadecimal digits may be capitals
	separator string   // between what the header lists; empty where it holds one signature
	prefix    string   // of each signature in the header
	signed    template // what is signed

	time      timeRule
	id        string        // lower case: the header with the id of the delivery, empty for none
	tolerance time.Duration // how old, or far in the future, a delivery may be; 0 where it has no time

	key      keyForm
	address  addressForm
	bodyHash string // parameter of the query with the hexadecimal SHA-256 of a body that is no form; empty for none
	carried  string // parameter of the query, or path in the body, of a secret that is sent
}

// timeRule says where the time of a delivery is. All are empty where there is none.
type timeRule struct {
	header string // lower case
	prefix string // of the item in the signature's header
	member string // of the body, a JSON object
	unit   Unit
}

func (t timeRule) exists() bool { return t.header != "" || t.prefix != "" || t.member != "" }

// keyForm is how the text of a secret is read as a key.
type keyForm uint8

const (
	keyText     keyForm = iota // its bytes
	keyStandard                // "whsec_" and base64 (Standard Webhooks, "Signature scheme")
)

// addressForm is how the address that was sent to stands in what is signed.
type addressForm uint8

const (
	addressSent    addressForm = iota // as it is
	addressPorts                      // as it is, or with the port of its scheme written or left out
	addressDecoded                    // with the escapes of some characters resolved
)

// Preset is the sender, empty for a kind that a client described.
func (s Scheme) Preset() Preset { return s.preset }

// Name is the preset, or the kind.
func (s Scheme) Name() string {
	switch {
	case s.preset != "":
		return string(s.preset)
	case len(s.methods) > 0:
		return string(s.methods[0].kind)
	default:
		return ""
	}
}

// Document is the scheme as it was sent.
func (s Scheme) Document() domain.Document { return s.document }

// IsOpen says that whoever knows the address starts runs, which deserves a warning.
func (s Scheme) IsOpen() bool { return len(s.methods) == 1 && s.methods[0].kind == KindNone }

// Uses says whether the scheme verifies with secrets of a kind.
func (s Scheme) Uses(kind SecretKind) bool {
	return slices.ContainsFunc(s.methods, func(m method) bool { return m.uses(kind) })
}

// Signs says whether the sender signs what it sends, so that a delivery that was kept can be verified again.
func (s Scheme) Signs() bool {
	return slices.ContainsFunc(s.methods, func(m method) bool { return m.signs() })
}

// SignsAddress says whether the signature depends on the address that was sent to.
func (s Scheme) SignsAddress() bool {
	return slices.ContainsFunc(s.methods, func(m method) bool { return m.signed.has(partURL) })
}

func (m method) signs() bool { return m.kind == KindHMAC || m.kind == KindEd25519 }

func (m method) uses(kind SecretKind) bool {
	switch m.kind {
	case KindNone:
		return false
	case KindEd25519:
		return kind == SecretPublicKey
	default:
		return kind == SecretText
	}
}
