package noderunner

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// headerCNP is the signature of a call to a custom node that receivers can check
// without Standard Webhooks.
const headerCNP = "X-CNP-Signature"

// sign adds the signatures of the body by every secret, the first one first, so that
// a receiver that knows any of them can check the call while one rotates: those of
// Standard Webhooks, and X-CNP-Signature, whose values are separated by commas.
func sign(h http.Header, secrets []domain.SigningSecret, id string, at time.Time, body []byte) {
	cnp := make([]string, len(secrets))
	for i, s := range secrets {
		cnp[i] = "sha256=" + mac(s, body)
	}
	h.Set(headerCNP, strings.Join(cnp, ","))
	standard := domain.Sign(secrets, id, at, body)
	h.Set(domain.WebhookIDHeader, standard.ID)
	h.Set(domain.WebhookTimestampHeader, standard.Timestamp)
	h.Set(domain.WebhookSignatureHeader, standard.Values)
}

// mac is the base64 of the HMAC-SHA256 of the body. The key is the secret's text, as
// the tenant was given it: that takes no decoding on the other side.
func mac(s domain.SigningSecret, body []byte) string {
	h := hmac.New(sha256.New, []byte(s.Reveal()))
	h.Write(body)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}
