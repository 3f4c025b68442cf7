package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maxBody bounds what is read before it is known who sent it, in bytes.
const maxBody = 2 << 20

var errUntrusted = errors.New("no signature of the request was made with a known secret, or its time is not now")

// verifier knows the secrets that calls may be signed with.
type verifier struct {
	secrets  []string
	webhooks []*standardwebhooks.Webhook
}

// newVerifier accepts any of the secrets, "whsec_" and base64 each.
func newVerifier(secrets []string) (*verifier, error) {
	if len(secrets) == 0 {
		return nil, errors.New("name at least one secret, whsec_…")
	}
	v := &verifier{secrets: secrets}
	for i, s := range secrets {
		w, err := standardwebhooks.NewWebhook(s)
		if err != nil { // the error may show the secret
			return nil, fmt.Errorf("secret %d is not whsec_ and base64", i+1)
		}
		v.webhooks = append(v.webhooks, w)
	}
	return v, nil
}

// read returns the body of a request whose Standard Webhooks headers hold a signature
// by a known secret, made in the last five minutes. It must see the very bytes that
// were sent, so it comes before any decoding.
func (v *verifier) read(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	for _, w := range v.webhooks {
		if w.Verify(body, r.Header) == nil { // tries each of the signatures, compares in constant time
			return body, nil
		}
	}
	return nil, errUntrusted
}

// readCall is read for calls of custom nodes, which X-CNP-Signature signs too: either
// one is enough, and to check both shows that they agree.
func (v *verifier) readCall(r *http.Request) ([]byte, error) {
	body, err := v.read(r)
	if err != nil {
		return nil, err
	}
	for given := range strings.SplitSeq(r.Header.Get("X-CNP-Signature"), ",") {
		for _, secret := range v.secrets {
			mac := hmac.New(sha256.New, []byte(secret)) // the secret's text, with whsec_
			mac.Write(body)
			want := "sha256=" + base64.StdEncoding.EncodeToString(mac.Sum(nil))
			if hmac.Equal([]byte(strings.TrimSpace(given)), []byte(want)) {
				return body, nil
			}
		}
	}
	return nil, errUntrusted
}
