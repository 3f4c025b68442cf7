package hook

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// challenge is how a sender asks whether an address is its customer's.
type challenge interface {
	// unsigned answers what bears no signature; asked is false for everything else.
	unsigned(secrets []Secret, r Request) (result Result, asked bool)
	// signed answers what was verified; nil for a delivery.
	signed(r Request) *Answer
}

// maxEchoed bounds what is sent back, in bytes.
const maxEchoed = 4096

type (
	signedChallenge   func(Request) *Answer
	unsignedChallenge func([]Secret, Request) (Result, bool)
)

func (signedChallenge) unsigned([]Secret, Request) (Result, bool) { return Result{}, false }
func (c signedChallenge) signed(r Request) *Answer                { return c(r) }

func (c unsignedChallenge) unsigned(secrets []Secret, r Request) (Result, bool) { return c(secrets, r) }
func (unsignedChallenge) signed(Request) *Answer                                { return nil }

func textAnswer(text string) *Answer {
	return &Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(text)}
}

// githubPing is sent when a webhook is made
// (https://docs.github.com/en/webhooks/webhook-events-and-payloads#ping).
var githubPing signedChallenge = func(r Request) *Answer {
	if r.Headers.first("x-github-event") != "ping" {
		return nil
	}
	return &Answer{Status: http.StatusOK}
}

// slackVerification gives the challenge back (https://api.slack.com/events/url_verification).
var slackVerification signedChallenge = func(r Request) *Answer {
	body := bodyMembers(r)
	var kind, echo string
	if json.Unmarshal(body["type"], &kind) != nil || kind != "url_verification" || json.Unmarshal(body["challenge"], &echo) != nil || len(echo) > maxEchoed {
		return nil
	}
	return textAnswer(echo)
}

// discordPing tells the PING of webhook events, type 0, from that of interactions, type 1, which is also the type of a
// webhook event that is none.
var discordPing signedChallenge = func(r Request) *Answer {
	body := bodyMembers(r)
	switch kind := string(body["type"]); {
	case kind == "0":
		return &Answer{Status: http.StatusNoContent}
	case kind == "1" && body["event"] == nil:
		return &Answer{Status: http.StatusOK, ContentType: typeJSON, Body: []byte(`{"type":1}`)}
	default:
		return nil
	}
}

// bodyMembers are the members of a body that is a JSON object; none of any other.
func bodyMembers(r Request) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(r.Body, &members) != nil {
		return nil
	}
	return members
}

// once is a parameter of the query that is there once; ok is false for any other number.
func once(r Request, name string) (value string, ok bool) {
	query, err := url.ParseQuery(r.Query)
	if err != nil || len(query[name]) != 1 || len(query[name][0]) > maxEchoed {
		return "", false
	}
	return query[name][0], true
}

// metaVerification is answered only with the token that was told to Meta
// (https://developers.facebook.com/docs/graph-api/webhooks/getting-started#verification-requests).
var metaVerification unsignedChallenge = func(secrets []Secret, r Request) (Result, bool) {
	mode, _ := once(r, "hub.mode")
	if r.Method != http.MethodGet || mode != "subscribe" {
		return Result{}, false
	}
	echo, ok := once(r, "hub.challenge")
	token, hasToken := once(r, "hub.verify_token")
	if !ok || !hasToken {
		return Result{Reason: SignedPartMissing}, true
	}
	result := Result{Reason: VerifyTokenMismatch}
	for _, secret := range secrets {
		if secret.Kind() == SecretText && secret.text() != "" && equalTexts(token, secret.text()) == 1 {
			result = Result{Verified: true, Secret: secret.Source(), Challenge: textAnswer(echo)}
		}
	}
	return result, true
}

// dropboxVerification gives the challenge back (https://www.dropbox.com/developers/reference/webhooks).
var dropboxVerification unsignedChallenge = func(_ []Secret, r Request) (Result, bool) {
	echo, ok := once(r, "challenge")
	if r.Method != http.MethodGet || !ok {
		return Result{}, false
	}
	return Result{Verified: true, Challenge: textAnswer(echo)}, true
}

// graphValidation gives the token back, unescaped
// (https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks#notificationurl-validation).
var graphValidation unsignedChallenge = func(_ []Secret, r Request) (Result, bool) {
	echo, ok := once(r, "validationToken")
	if r.Method != http.MethodPost || !ok {
		return Result{}, false
	}
	return Result{Verified: true, Challenge: textAnswer(echo)}, true
}
