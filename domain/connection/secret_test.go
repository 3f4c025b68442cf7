package connection_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/connection"
)

// certificate makes a certificate that signs itself, and its key, in PEM.
func certificate(t testing.TB) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, &about, &about, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

const ed25519Hex = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a" // RFC 8032, §7.1, test 1

// Each kind has its members, of which only some are shown, and comes back from the store
// as it was.
func TestEachKindHasItsMembersAndShowsWhatIsNoSecret(t *testing.T) {
	cert, key := certificate(t)
	hosts := []string{"auth.example.com"}
	for claim, c := range map[string]struct {
		kind   connection.Kind
		secret object
		shown  object
	}{
		"bearer": {connection.Bearer, object{"token": "abc.def-_~+/=="}, object{"token": "[redacted]"}},
		"basic":  {connection.Basic, object{"username": "ada", "password": "x y:ü"}, object{"username": "[redacted]", "password": "[redacted]"}},
		"header": {connection.Header, object{"X-Key": "s", "Authorization": "Token s"}, object{"X-Key": "[redacted]", "Authorization": "[redacted]"}},
		"query":  {connection.Query, object{"api key": "ü&="}, object{"api key": "[redacted]"}},
		"client credentials": {
			connection.OAuth2ClientCredentials,
			object{"tokenUrl": "https://auth.example.com/t?a=b", "clientId": "me", "clientSecret": "s", "scopes": []any{"a", "b:c"}, "audience": "https://api", "authStyle": "body"},
			object{"tokenUrl": "https://auth.example.com/t?a=b", "clientId": "me", "clientSecret": "[redacted]", "scopes": []string{"a", "b:c"}, "audience": "https://api", "authStyle": "body"},
		},
		"scopes as one text": {
			connection.OAuth2AuthorizationCode,
			object{"authorizationUrl": "https://elsewhere.example/a", "tokenUrl": "https://auth.example.com/t", "clientId": "me", "scopes": "a  b", "clientSecret": ""},
			object{"authorizationUrl": "https://elsewhere.example/a", "tokenUrl": "https://auth.example.com/t", "clientId": "me", "scopes": []string{"a", "b"}},
		},
		"a key":             {connection.HMAC, object{"key": "s", "header": "X-Hub-Signature", "encoding": "base64", "publicKey": nil}, object{"key": "[redacted]", "header": "X-Hub-Signature", "encoding": "base64"}},
		"a public key":      {connection.HMAC, object{"publicKey": ed25519Hex}, object{"publicKey": "[redacted]"}},
		"a standard one":    {connection.HMAC, object{"publicKey": "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="}, object{"publicKey": "[redacted]"}},
		"a certificate":     {connection.MTLS, object{"certificate": cert, "privateKey": key, "ca": cert}, object{"certificate": "[redacted]", "privateKey": "[redacted]", "ca": "[redacted]"}},
		"a certificate sys": {connection.MTLS, object{"certificate": cert, "privateKey": key}, object{"certificate": "[redacted]", "privateKey": "[redacted]"}},
	} {
		got := made(t, connection.Draft{Kind: c.kind, Hosts: hosts, Secret: c.secret}).Secret()
		if diff := cmp.Diff(c.shown, got.Shown()); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
		again, err := connection.RestoreSecret(c.kind, got.Reveal())
		if err != nil || !again.Equal(got) {
			t.Errorf("%s comes back as another: %v", claim, err)
		}
	}
}

func TestMembersThatDoNotFitTheirKindAreRefused(t *testing.T) {
	cert, key := certificate(t)
	_, another := certificate(t)
	many := object{}
	for i := range 21 {
		many["X-"+strings.Repeat("a", i+1)] = "x"
	}
	for claim, c := range map[string]struct {
		kind   connection.Kind
		secret object
		want   []string
	}{
		"a token with a line break": {connection.Bearer, object{"token": "abc\n"}, []string{"secret.token bad_character"}},
		"a token that is a number":  {connection.Bearer, object{"token": 5.0}, []string{"secret.token wrong_type"}},
		"a blank token":             {connection.Bearer, object{"token": ""}, []string{"secret.token required"}},
		"a token too long":          {connection.Bearer, object{"token": strings.Repeat("x", 16_385)}, []string{"secret.token too_long"}},
		"a token as it is shown":    {connection.Bearer, object{"token": "[redacted]"}, []string{"secret.token not_allowed"}},
		"no user and no password":   {connection.Basic, object{}, []string{"secret.username required", "secret.password required"}},
		"a user with a colon":       {connection.Basic, object{"username": "a:b", "password": "x"}, []string{"secret.username bad_character"}},
		"no header":                 {connection.Header, object{}, []string{"secret required"}},
		"headers that are none":     {connection.Header, object{"a b": "x", "Host": "x", "X-A": "x\r\ny", "X-B": " x", "X-C": ""}, []string{"secret.Host not_allowed", "secret.X-A bad_character", "secret.X-B bad_character", "secret.X-C required", "secret.a b bad_format"}},
		"a header twice":            {connection.Header, object{"X-Key": "x", "x-key": "y"}, []string{"secret.x-key duplicate"}},
		"too many headers":          {connection.Header, many, []string{"secret too_long"}},
		"a parameter without name":  {connection.Query, object{"": "x"}, []string{"secret. required"}},
		"a member of another kind":  {connection.HMAC, object{"key": "x", "token": "y"}, []string{"secret.token not_allowed"}},
		"neither of the keys":       {connection.HMAC, object{}, []string{"secret.key required"}},
		"both keys":                 {connection.HMAC, object{"key": "x", "publicKey": ed25519Hex}, []string{"secret.publicKey conflicting"}},
		"a public key that is none": {connection.HMAC, object{"publicKey": "abc", "encoding": "utf8", "header": "a b"}, []string{"secret.encoding not_allowed", "secret.header bad_format", "secret.publicKey bad_format"}},
		"a header of the gateway":   {connection.HMAC, object{"key": "x", "header": "content-length"}, []string{"secret.header not_allowed"}},
		"the key of another":        {connection.MTLS, object{"certificate": cert, "privateKey": another}, []string{"secret.privateKey bad_format"}},
		"the two mixed up":          {connection.MTLS, object{"certificate": key, "privateKey": cert}, []string{"secret.privateKey bad_format"}},
		"authorities that are none": {connection.MTLS, object{"certificate": cert, "privateKey": key, "ca": "x"}, []string{"secret.ca bad_format"}},
		"too much together":         {connection.Query, object{"a": strings.Repeat("\x01", 16_000), "b": "x"}, []string{"secret too_long"}},
	} {
		_, err := connection.New("conn_1", "tenant_1", connection.Draft{Name: "x", Kind: c.kind, Hosts: []string{"a.test"}, Secret: c.secret}, lookup, noon)
		if diff := cmp.Diff(c.want, violations(t, err)); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestWhatCannotBeReadIsNoSecret(t *testing.T) {
	for _, text := range []string{"", "null", "5", `["s3cret"]`, `{"token": 5}`, `{"token":"s3cret"`} {
		if _, err := connection.RestoreSecret(connection.Bearer, text); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestACredentialBearsWhatItsKindDoes(t *testing.T) {
	cert, key := certificate(t)
	for claim, c := range map[string]struct {
		kind           connection.Kind
		secret         object
		headers, query string
		signature      string // of "hello"
		certificate    bool
	}{
		"bearer":          {kind: connection.Bearer, secret: object{"token": "abc"}, headers: "Authorization: Bearer abc\n"},
		"basic":           {kind: connection.Basic, secret: object{"username": "Aladdin", "password": "open sesame"}, headers: "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\n"}, // RFC 7617, §2
		"header":          {kind: connection.Header, secret: object{"X-B": "2", "X-A": "1"}, headers: "X-A: 1\nX-B: 2\n"},
		"query":           {kind: connection.Query, secret: object{"key": "a b"}, query: "key: a b\n"},
		"hmac":            {kind: connection.HMAC, secret: object{"key": "key"}, signature: "X-Signature: 9307b3b915efb5171ff14d8cb55fbcc798c6c0ef1456d66ded1a6aa723a58b7b"},
		"hmac, elsewhere": {kind: connection.HMAC, secret: object{"key": "key", "header": "X-Mac", "encoding": "base64"}, signature: "X-Mac: kwezuRXvtRcf8U2MtV+8x5jGwO8UVtZt7RpqpyOli3s="},
		"a public key":    {kind: connection.HMAC, secret: object{"publicKey": ed25519Hex}},
		"a certificate":   {kind: connection.MTLS, secret: object{"certificate": cert, "privateKey": key, "ca": cert}, certificate: true},
	} {
		got, ok := made(t, connection.Draft{Kind: c.kind, Hosts: []string{"a.test"}, Secret: c.secret}).Credential()
		if headers, query := written(got.Headers()), written(got.Query()); !ok || headers != c.headers || query != c.query {
			t.Errorf("%s: %q, %q", claim, headers, query)
		}
		signature := ""
		if header, value, signs := got.Sign([]byte("hello")); signs {
			signature = header + ": " + value
		}
		if signature != c.signature {
			t.Errorf("%s: it is signed with %q", claim, signature)
		}
		shown, shows := got.ClientCertificate()
		if shows != c.certificate || shows && (shown.Certificate.Reveal() != cert || shown.PrivateKey.Reveal() != key || shown.Authorities != cert) {
			t.Errorf("%s: the certificate is another", claim)
		}
	}
}

func written(fields []connection.Field) (all string) {
	for _, f := range fields {
		all += f.Name + ": " + f.Value.Reveal() + "\n"
	}
	return all
}

func TestAnAccessTokenTakesThePlaceOfTheSecretOfOAuth(t *testing.T) {
	c := made(t, oauth(nil))
	if _, ok := c.Credential(); ok {
		t.Error("it bears something without a token")
	}
	got := c.CredentialOf(connection.NewText("at-123456"))
	if written(got.Headers()) != "Authorization: Bearer at-123456\n" || got.Connection() != c.ID() {
		t.Errorf("%v bears %s", got, written(got.Headers()))
	}
	if text, found := got.Redactor().Text("at-123456"); !found {
		t.Error(text)
	}
	settings, ok := c.OAuth()
	want := connection.OAuth{TokenURL: "https://auth.example.com/token", ClientID: "me", ClientSecret: connection.NewText("s3cret"), AuthStyle: connection.AuthInHeader}
	if diff := cmp.Diff(want, settings); !ok || diff != "" {
		t.Error(diff)
	}
}
