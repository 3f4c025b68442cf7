package connection

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// Members of secrets.
const (
	tokenMember            = "token"
	usernameMember         = "username"
	passwordMember         = "password"
	tokenURLMember         = "tokenUrl"
	authorizationURLMember = "authorizationUrl"
	clientIDMember         = "clientId"
	clientSecretMember     = "clientSecret"
	scopesMember           = "scopes"
	audienceMember         = "audience"
	authStyleMember        = "authStyle"
	keyMember              = "key"
	publicKeyMember        = "publicKey"
	headerMember           = "header"
	encodingMember         = "encoding"
	certificateMember      = "certificate"
	privateKeyMember       = "privateKey"
	caMember               = "ca"
)

// AuthStyle says how a client authenticates at the token endpoint (RFC 6749, §2.3.1).
type AuthStyle string

// The styles.
const (
	AuthInHeader AuthStyle = "header" // by HTTP Basic, which every server must support; unless another is named
	AuthInBody   AuthStyle = "body"
)

// Encoding is how a signature is written.
type Encoding string

// The encodings.
const (
	Hex    Encoding = "hex" // unless another is named
	Base64 Encoding = "base64"
)

// DefaultSignatureHeader bears the signature of an outgoing body where no other header is
// named.
const DefaultSignatureHeader = "X-Signature"

// member is one member of a secret whose name the kind fixes.
type member struct {
	name     string
	required bool
	blank    bool // it may be empty although it is required
	shown    bool // it is no secret
	check    func(r *domain.Rules, at, value string)
}

// membersOf are the members of each kind, except the scopes of OAuth and for kinds whose
// members the client names.
var membersOf = map[Kind][]member{
	Bearer: {{name: tokenMember, required: true, check: checkVisible}},
	Basic: {
		{name: usernameMember, required: true, check: checkUserName},
		{name: passwordMember, required: true, blank: true, check: checkNoControl},
	},
	OAuth2ClientCredentials: {
		{name: tokenURLMember, required: true, shown: true, check: checkURL},
		{name: clientIDMember, required: true, shown: true, check: checkNoControl},
		{name: clientSecretMember, required: true, check: checkNoControl},
		{name: audienceMember, shown: true, check: checkNoControl},
		{name: authStyleMember, shown: true, check: oneOf(AuthInHeader, AuthInBody)},
	},
	OAuth2AuthorizationCode: {
		{name: authorizationURLMember, required: true, shown: true, check: checkURL},
		{name: tokenURLMember, required: true, shown: true, check: checkURL},
		{name: clientIDMember, required: true, shown: true, check: checkNoControl},
		{name: clientSecretMember, check: checkNoControl},
		{name: authStyleMember, shown: true, check: oneOf(AuthInHeader, AuthInBody)},
	},
	HMAC: {
		{name: keyMember, check: checkNoNUL},
		{name: publicKeyMember, check: checkPublicKey},
		{name: headerMember, shown: true, check: checkHeaderName},
		{name: encodingMember, shown: true, check: oneOf(Hex, Base64)},
	},
	MTLS: {
		{name: certificateMember, required: true, check: checkNoNUL},
		{name: privateKeyMember, required: true, check: checkNoNUL},
		{name: caMember, check: checkAuthorities},
	},
}

// named says whether the client names the members of a kind.
func (k Kind) named() bool { return k == Header || k == Query }

// memberOf is the member of a kind with a name that the kind fixes.
func memberOf(k Kind, name string) (m member, ok bool) {
	i := slices.IndexFunc(membersOf[k], func(m member) bool { return m.name == name })
	if i < 0 {
		return m, false
	}
	return membersOf[k][i], true
}

func oneOf[T ~string](values ...T) func(r *domain.Rules, at, value string) {
	return func(r *domain.Rules, at, value string) {
		r.Check(slices.Contains(values, T(value)), at, domain.NotAllowed, "must be %s", domain.OneOf(values...))
	}
}

func checkNoNUL(r *domain.Rules, at, value string) { r.Text(value, at, 0, maxSecretText) }

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

func checkNoControl(r *domain.Rules, at, value string) {
	r.Check(!strings.ContainsFunc(value, isControl), at, domain.BadText, "must not contain line breaks or other control characters")
}

// checkVisible is for what stands in a header by itself.
func checkVisible(r *domain.Rules, at, value string) {
	r.Check(!strings.ContainsFunc(value, func(c rune) bool { return c <= ' ' || c >= 0x7f }), at, domain.BadText,
		"must consist of visible ASCII characters, without spaces and line breaks")
}

func checkUserName(r *domain.Rules, at, value string) {
	checkNoControl(r, at, value)
	r.Check(!strings.Contains(value, ":"), at, domain.BadText, "must not contain a colon, which ends it (RFC 7617)")
}

func checkHeaderName(r *domain.Rules, at, value string) {
	r.Check(domain.IsHeaderName(value), at, domain.BadFormat, "must be the name of a header, such as X-Signature")
	r.Check(!domain.IsManagedHeader(value), at, domain.NotAllowed, "must be another header: the gateway sets this one")
}

func checkHeaderValue(r *domain.Rules, at, value string) {
	r.Check(domain.IsHeaderValue(value), at, domain.BadText, "must not contain line breaks or other control characters")
	r.Check(strings.TrimSpace(value) == value, at, domain.BadText, "must not begin or end with a space, which a header drops")
}

// checkURL demands the URL of an authorization server. What it says never repeats the URL.
func checkURL(r *domain.Rules, at, value string) {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || u.Hostname() == "" {
		r.Check(false, at, domain.BadFormat, "must be an absolute http or https URL, such as https://auth.example.com/token")
		return
	}
	r.Check(u.User == nil, at, domain.NotAllowed, "must not hold a user name or a password, since it is shown")
	r.Check(!strings.Contains(value, "#"), at, domain.NotAllowed, "must not hold a fragment (#)")
	checkNoControl(r, at, value)
}

func checkPublicKey(r *domain.Rules, at, value string) {
	_, ok := parsePublicKey(value)
	r.Check(ok, at, domain.BadFormat, "must be an Ed25519 public key: 32 bytes in hex, in base64 or as whpk_ and base64")
}

// parsePublicKey reads a key as senders of hooks give it out.
func parsePublicKey(text string) (ed25519.PublicKey, bool) {
	if key, err := hex.DecodeString(text); err == nil && len(key) == ed25519.PublicKeySize {
		return key, true
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whpk_"))
	return key, err == nil && len(key) == ed25519.PublicKeySize
}

func checkAuthorities(r *domain.Rules, at, value string) {
	r.Check(x509.NewCertPool().AppendCertsFromPEM([]byte(value)), at, domain.BadFormat,
		"must be certificates in PEM, which begin with -----BEGIN CERTIFICATE-----")
}

// checkPair demands that certificate and private key belong together. Errors of the parser
// are not repeated, since they quote what they read.
func checkPair(r *domain.Rules, path string, s Secret) {
	certificate, key := s.reveal(certificateMember), s.reveal(privateKeyMember)
	if certificate == "" || key == "" {
		return
	}
	_, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	r.Check(err == nil, domain.Member(path, privateKeyMember), domain.BadFormat,
		"must be the key of the certificate, both in PEM, the key without a passphrase and the certificate first in its chain")
}
