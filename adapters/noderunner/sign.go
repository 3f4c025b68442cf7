package noderunner

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers that say who sends a call to a custom node.
const (
	headerCNP       = "X-CNP-Signature"
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// secretPrefix stands before the base64 of a key (Standard Webhooks 1.0, "Signature
// scheme").
const secretPrefix = "whsec_"

// sign adds the signatures of the body by every secret, the first one first, so that
// a receiver that knows any of them can check the call while one rotates.
//
// The key of Standard Webhooks is what the secret's base64 stands for. That of
// X-CNP-Signature is the secret's text as the tenant was given it; where there are
// several, the values are separated by commas.
func sign(h http.Header, secrets []string, id string, at time.Time, body []byte) error {
	seconds := strconv.FormatInt(at.Unix(), 10)
	var cnp, standard []string
	for i, secret := range secrets {
		encoded, ok := strings.CutPrefix(secret, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) == 0 { // nothing of a secret belongs into an error
			return fmt.Errorf("noderunner: secret %d is not %s and base64", i+1, secretPrefix)
		}
		cnp = append(cnp, "sha256="+mac([]byte(secret), body))
		standard = append(standard, "v1,"+mac(key, []byte(id+"."+seconds+"."), body))
	}
	h.Set(headerCNP, strings.Join(cnp, ","))
	h.Set(headerID, id)
	h.Set(headerTimestamp, seconds)
	h.Set(headerSignature, strings.Join(standard, " "))
	return nil
}

// mac is the base64 of the HMAC-SHA256 of the parts.
func mac(key []byte, parts ...[]byte) string {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}
