package sender

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

func id(name string, n int) string { return name + "-" + strconv.Itoa(n) }

// discordKey is the key of an application whose seed is no secret.
var discordKey = ed25519.NewKeyFromSeed([]byte("an application on Discord, 32 b."))

// asymmetricKey is that of a sender by Standard Webhooks.
var asymmetricKey = ed25519.NewKeyFromSeed([]byte("a sender of standard webhooks 32"))

// All lists every way in which a sender of a preset proves itself. The bodies are shortened from what each documents.
func All() []Sender {
	return append(developers(), commerce()...)
}

func developers() []Sender {
	return []Sender{
		{
			Name: "github", Preset: "github", Secret: "It's a Secret to Everybody", dedupe: "X-GitHub-Delivery", header: map[string]string{"X-GitHub-Event": "issues"},
			body: text(`{"action":"opened","issue":{"number":%d},"repository":{"id":1296269,"full_name":"octocat/Hello-World"}}`), sign: prefixedHex("X-Hub-Signature-256", "sha256="), Runs: 1,
		},
		{
			Name: "gitlab token", Preset: "gitlab", Secret: "a token of a project 1c9e", dedupe: "Idempotency-Key", header: map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Event-UUID": "13792a34-cac6-4fda-95a8-c58e00a3954e"},
			body: text(`{"object_kind":"push","project":{"path_with_namespace":"mike/diaspora"},"total_commits_count":%d}`), sign: token("X-Gitlab-Token"), Runs: 1,
		},
		{
			Name: "gitlab signing", Preset: "gitlab", Secret: "whsec_" + base64.StdEncoding.EncodeToString([]byte("the signing token of a project..")), dedupe: "Idempotency-Key", header: map[string]string{"X-Gitlab-Event": "Push Hook"},
			body: text(`{"object_kind":"push","project":{"path_with_namespace":"mike/diaspora"},"total_commits_count":%d}`), sign: standard("webhook"), Runs: 1, Dated: true,
		},
		{
			Name: "standard", Preset: "standard", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", body: text(`{"type":"invoice.paid","data":{"id":"in_%d"}}`), sign: standard("webhook"), Runs: 1, Dated: true,
		},
		{
			Name: "standard ed25519", Preset: "standard", PublicKey: "whpk_" + base64.StdEncoding.EncodeToString(asymmetricKey.Public().(ed25519.PublicKey)),
			body: text(`{"type":"invoice.paid","data":{"id":"in_%d"}}`), sign: standardAsymmetric, Runs: 1, Dated: true,
		},
		{
			Name: "svix", Preset: "standard", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", body: text(`{"type":"user.created","data":{"id":"user_%d"}}`), sign: standard("svix"), Runs: 1, Dated: true,
		},
		{
			Name: "linear", Preset: "linear", Secret: "lin_wh_Q3RyGcSDnXBOSSDD2sQ4nUfG", dedupe: "Linear-Delivery", header: map[string]string{"Linear-Event": "Issue"}, Dated: true,
			body: func(n int, at time.Time) string {
				return fmt.Sprintf(`{"action":"create","type":"Issue","data":{"id":"2174add1-f7c8-44e3-bbf3-2d60b5ea8bc%d"},"webhookTimestamp":%d}`, n, at.UnixMilli())
			}, sign: prefixedHex("Linear-Signature", ""), Runs: 1,
		},
		{
			Name: "discord", Preset: "discord", PublicKey: hex.EncodeToString(discordKey.Public().(ed25519.PublicKey)), Dated: true,
			body: text(`{"version":1,"application_id":"1234560123453231555","type":1,"event":{"type":"APPLICATION_AUTHORIZED","data":{"n":%d}}}`), sign: discord, Runs: 1,
		},
		{
			Name: "slack", Preset: "slack", Secret: "8f742231b10e8888abcd99yyyzzz85a5", sign: slack, Runs: 1, Dated: true,
			body: text(`{"token":"xyzz0WbapA4vBCDEFasx0q6G","team_id":"T1DC2JH3J","type":"event_callback","event_id":"Ev%d","event":{"type":"app_mention","user":"U1"}}`),
		},
		{
			Name: "dropbox", Preset: "dropbox", Secret: "the secret of an app", sign: prefixedHex("X-Dropbox-Signature", ""), Runs: 1,
			body: text(`{"list_folder":{"accounts":["dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQng%d"]},"delta":{"users":[12345678]}}`),
		},
		{
			Name: "microsoft-graph", Preset: "microsoft-graph", Secret: "secretClientValue 7f2c", sign: clientState, Runs: 2,
			body: func(n int, _ time.Time) string {
				const item = `{"id":"lsgTZMr9KwAAA-%d-%d","subscriptionId":"7f105c7d","clientState":"%s","changeType":"created","resource":"users/%d/messages"}`
				return `{"value":[` + fmt.Sprintf(item, n, 1, "CLIENT", n) + `,` + fmt.Sprintf(item, n, 2, "CLIENT", n) + `]}`
			},
		},
	}
}

func commerce() []Sender {
	const hubspot = `{"eventId":1%d%d,"subscriptionId":12345,"portalId":62515,"occurredAt":1564113600000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123}`
	return []Sender{
		{
			Name: "stripe", Preset: "stripe", Secret: "whsec_test_secret_of_an_endpoint", sign: listed("Stripe-Signature", "t=", ".", ",v1="), Runs: 1, Dated: true,
			body: text(`{"id":"evt_%d","object":"event","type":"invoice.paid","data":{"object":{"id":"in_1","object":"invoice"}}}`),
		},
		{
			Name: "paddle", Preset: "paddle", Secret: "pdl_ntfset_01hv8xxw0_secret", sign: listed("Paddle-Signature", "ts=", ":", ";h1="), Runs: 1, Dated: true,
			body: text(`{"event_id":"evt_%d","event_type":"transaction.completed","data":{"id":"txn_01"}}`),
		},
		{
			Name: "shopify", Preset: "shopify", Secret: "hush", dedupe: "X-Shopify-Webhook-Id", header: map[string]string{"X-Shopify-Topic": "orders/create"},
			body: text(`{"id":%d,"admin_graphql_api_id":"gid://shopify/Order/820982911946154508","total_price":"403.00"}`), sign: bodyBase64("X-Shopify-Hmac-Sha256"), Runs: 1,
		},
		{
			Name: "square", Preset: "square", Secret: "Ibxx_5AKakO-3qeNVR61Dw", SignsURL: true, sign: square, Runs: 1,
			body: text(`{"merchant_id":"MLEFBHHSJGVHD","type":"payment.updated","event_id":"evt-%d","data":{"type":"payment","id":"hYy9pRFVxpDsO1FB05SunFWUe9JZY"}}`),
		},
		{
			Name: "zendesk", Preset: "zendesk", Secret: "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==", dedupe: "X-Zendesk-Webhook-Invocation-Id", sign: zendesk, Runs: 1, Dated: true,
			body: text(`{"type":"zen:event-type:ticket.created","detail":{"id":"%d"},"zendesk_event_version":"2022-11-06"}`),
		},
		{
			Name: "hubspot", Preset: "hubspot", Secret: "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy", SignsURL: true, sign: hubSpot, Runs: 2, Dated: true,
			body: func(n int, _ time.Time) string { return fmt.Sprintf("["+hubspot+","+hubspot+"]", n, 1, n, 2) },
		},
		{
			Name: "meta", Preset: "meta", Secret: "the secret of an app", Token: "a token to verify", sign: prefixedHex("X-Hub-Signature-256", "sha256="), Runs: 2,
			body: func(n int, _ time.Time) string {
				return fmt.Sprintf(`{"object":"page","entry":[{"id":"%d","time":1520383571,"changes":[{"field":"feed"}]},{"id":"%d","time":1520383572,"changes":[{"field":"photos"}]}]}`, n, n)
			},
		},
		{
			Name: "twilio form", Preset: "twilio", Secret: "12345", SignsURL: true, dedupe: "I-Twilio-Idempotency-Token", sign: twilioForm, Runs: 1,
			body: func(n int, _ time.Time) string {
				return url.Values{"MessageSid": {fmt.Sprintf("SM%032d", n)}, "From": {"+14158675309"}, "To": {"+18005551212"}, "Body": {"Chloé says: 1 & 1 = 2"}}.Encode()
			},
		},
		{
			Name: "twilio JSON", Preset: "twilio", Secret: "12345", SignsURL: true, dedupe: "I-Twilio-Idempotency-Token", sign: twilioJSON, Runs: 1,
			body: text(`{"EventType":"onMessageAdded","MessageSid":"IM%d"}`),
		},
	}
}

// text is a body with the number of the delivery in it.
func text(format string) func(int, time.Time) string {
	return func(n int, _ time.Time) string { return fmt.Sprintf(format, n) }
}

// clientState puts the secret into each item (learn.microsoft.com, "changeNotification resource type").
func clientState(s Sender, d *Delivery, _ time.Time) {
	quoted, err := json.Marshal(s.Secret)
	if err != nil {
		panic(err)
	}
	inside := string(quoted[1 : len(quoted)-1])
	d.Body = []byte(strings.ReplaceAll(string(d.Body), "CLIENT", inside))
	d.signsBody, d.bodySecret = false, inside
}

func token(header string) func(Sender, *Delivery, time.Time) {
	return func(s Sender, d *Delivery, _ time.Time) {
		d.Header.Set(header, s.Secret)
		d.proof, d.signsBody, d.bodySecret = []string{http.CanonicalHeaderKey(header)}, false, ""
	}
}
