package domain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"
)

// The headers that say who sends a message (Standard Webhooks, "Webhook headers").
const (
	WebhookIDHeader        = "webhook-id"
	WebhookTimestampHeader = "webhook-timestamp"
	WebhookSignatureHeader = "webhook-signature"
)

// signatureVersion stands before each signature: HMAC-SHA256.
const signatureVersion = "v1,"

// Signature are the values of the three headers.
type Signature struct {
	ID        string // of the message, the same in every attempt; receivers know repeats by it
	Timestamp string // Unix seconds of this attempt
	Values    string // "v1," and base64 of each signature, in the order of the secrets, separated by spaces
}

// Sign signs a message with every secret: HMAC-SHA256 over id.timestamp.body, so that a
// receiver that knows any of the secrets can check it while one rotates. The id must not
// hold a full stop, or what is signed could be read in two ways.
func Sign(secrets []SigningSecret, id string, at time.Time, body []byte) Signature {
	seconds := strconv.FormatInt(at.Unix(), 10)
	head := make([]byte, 0, len(id)+len(seconds)+2)
	head = append(append(append(append(head, id...), '.'), seconds...), '.')
	values := make([]byte, 0, len(secrets)*(len(signatureVersion)+base64.StdEncoding.EncodedLen(sha256.Size)+1))
	var sum [sha256.Size]byte
	for i, s := range secrets {
		if i > 0 {
			values = append(values, ' ')
		}
		mac := hmac.New(sha256.New, s.bytes())
		mac.Write(head)
		mac.Write(body)
		values = append(values, signatureVersion...)
		values = base64.StdEncoding.AppendEncode(values, mac.Sum(sum[:0]))
	}
	return Signature{ID: id, Timestamp: seconds, Values: string(values)}
}
