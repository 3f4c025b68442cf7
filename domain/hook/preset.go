package hook

import (
	"net/http"
	"time"
)

// preset is what a sender documents.
type preset struct {
	methods   []method
	challenge challenge // nil without one
	defaults  Defaults
	accepted  int      // the status that the sender wants where it says which; 0 for 202
	left      []string // headers in lower case that prove who sends, besides those of the methods
	sent      []string // paths in the body of secrets that the sender sends besides; items have the name []
	asked     []string // parameters of the query with a secret that a challenge names
}

// Defaults are what a hook reads in a delivery unless it says something else: expressions over the payload, empty for
// none.
type Defaults struct {
	Event     string
	Entity    string
	Dedupe    string
	Split     string // gives an array, of which each item starts a run
	ItemsHash bool   // deliveries have no id: the same item, or the same body, is the same delivery
}

const (
	fiveMinutes = 5 * time.Minute
	minute      = time.Minute
)

func hmacSHA256(header string, encoding Encoding, signed string) method {
	return method{kind: KindHMAC, algorithm: SHA256, header: header, encoding: encoding, signed: signs(signed)}
}

func (m method) withPrefix(prefix string) method { m.prefix = prefix; return m }

// presets follow what each sender documents, in the order of [Presets].
var presets = map[Preset]preset{
	// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
	GitHub: {
		methods:   []method{hmacSHA256("x-hub-signature-256", Hex, "{body}").withPrefix("sha256=")},
		challenge: githubPing,
		left:      []string{"x-hub-signature"},
		defaults: Defaults{
			Event: `payload.headers["x-github-event"]`, Entity: `payload.body?.repository?.full_name`, Dedupe: `payload.headers["x-github-delivery"]`,
		},
	},
	// https://docs.stripe.com/webhooks#verify-manually
	Stripe: {
		methods: []method{{
			kind: KindHMAC, algorithm: SHA256, header: "stripe-signature", encoding: Hex, separator: ",", prefix: "v1=", signed: signs("{timestamp}.{body}"),
			time: timeRule{prefix: "t=", unit: Seconds}, tolerance: fiveMinutes,
		}},
		accepted: http.StatusOK,
		defaults: Defaults{Event: `payload.body?.type`, Entity: `payload.body?.data?.object?.id`, Dedupe: `payload.body?.id`},
	},
	// https://api.slack.com/authentication/verifying-requests-from-slack
	Slack: {
		methods: []method{{
			kind: KindHMAC, algorithm: SHA256, header: "x-slack-signature", encoding: Hex, prefix: "v0=", signed: signs("v0:{timestamp}:{body}"),
			time: timeRule{header: "x-slack-request-timestamp", unit: Seconds}, tolerance: fiveMinutes,
		}},
		challenge: slackVerification,
		accepted:  http.StatusOK,
		sent:      []string{"token", "payload.token"}, // the verification token that signatures replaced
		defaults:  Defaults{Event: `payload.body?.event?.type ?? payload.body?.type`, Dedupe: `payload.body?.event_id`},
	},
	// https://shopify.dev/docs/apps/build/webhooks/subscribe/https
	Shopify: {
		methods:  []method{hmacSHA256("x-shopify-hmac-sha256", Base64, "{body}")},
		accepted: http.StatusOK,
		defaults: Defaults{
			Event: `payload.headers["x-shopify-topic"]`, Entity: `payload.body?.admin_graphql_api_id`, Dedupe: `payload.headers["x-shopify-webhook-id"]`,
		},
	},
	// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
	Standard: {
		methods: []method{
			standardHMAC("webhook"), standardEd25519("webhook"), standardHMAC("svix"), standardEd25519("svix"),
		},
		defaults: Defaults{Event: `payload.body?.type`, Dedupe: `payload.headers["webhook-id"] ?? payload.headers["svix-id"]`},
	},
	// https://docs.gitlab.com/user/project/integrations/webhooks/
	GitLab: {
		methods: []method{standardHMAC("webhook"), {kind: KindSecretHeader, header: "x-gitlab-token"}},
		defaults: Defaults{
			Event: `payload.headers["x-gitlab-event"]`, Entity: `payload.body?.project?.path_with_namespace`,
			Dedupe: `payload.headers["idempotency-key"] ?? payload.headers["x-gitlab-event-uuid"]`,
		},
	},
	// https://www.twilio.com/docs/usage/security#validating-requests
	Twilio: {
		methods: []method{{
			kind: KindHMAC, algorithm: SHA1, header: "x-twilio-signature", encoding: Base64, signed: template{{kind: partURL}, {kind: partForm}},
			address: addressPorts, bodyHash: "bodySHA256",
		}},
		accepted: http.StatusNoContent,
		defaults: Defaults{
			Event: `payload.body?.EventType`, Entity: `payload.body?.MessageSid ?? payload.body?.CallSid`,
			Dedupe: `payload.headers["i-twilio-idempotency-token"]`,
		},
	},
	// https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation
	HubSpot: {
		methods: []method{{
			kind: KindHMAC, algorithm: SHA256, header: "x-hubspot-signature-v3", encoding: Base64, signed: signs("{method}{url}{body}{timestamp}"),
			time: timeRule{header: "x-hubspot-request-timestamp", unit: Milliseconds}, tolerance: fiveMinutes, address: addressDecoded,
		}},
		left: []string{"x-hubspot-signature"},
		defaults: Defaults{
			Event: `payload.body?.subscriptionType`, Entity: `payload.body?.objectId`, Dedupe: `payload.body?.eventId`, Split: `payload.body`,
		},
	},
	// https://linear.app/developers/webhooks
	Linear: {
		methods: []method{{
			kind: KindHMAC, algorithm: SHA256, header: "linear-signature", encoding: Hex, signed: signs("{body}"),
			time: timeRule{member: "webhookTimestamp", unit: Milliseconds}, tolerance: minute,
		}},
		accepted: http.StatusOK,
		defaults: Defaults{Event: `payload.body?.type`, Entity: `payload.body?.data?.id`, Dedupe: `payload.headers["linear-delivery"]`},
	},
	// https://developer.zendesk.com/documentation/webhooks/verifying/
	Zendesk: {
		methods: []method{{
			kind: KindHMAC, algorithm: SHA256, header: "x-zendesk-webhook-signature", encoding: Base64, signed: signs("{timestamp}{body}"),
			time: timeRule{header: "x-zendesk-webhook-signature-timestamp", unit: RFC3339}, tolerance: fiveMinutes,
		}},
		defaults: Defaults{
			Event: `payload.body?.type`, Entity: `payload.body?.detail?.id`, Dedupe: `payload.headers["x-zendesk-webhook-invocation-id"]`,
		},
	},
	// https://developer.paddle.com/webhooks/signature-verification
	Paddle: {
		methods: []method{{
			kind: KindHMAC, algorithm: SHA256, header: "paddle-signature", encoding: Hex, separator: ";", prefix: "h1=", signed: signs("{timestamp}:{body}"),
			time: timeRule{prefix: "ts=", unit: Seconds}, tolerance: fiveMinutes,
		}},
		accepted: http.StatusOK,
		defaults: Defaults{Event: `payload.body?.event_type`, Entity: `payload.body?.data?.id`, Dedupe: `payload.body?.event_id`},
	},
	// https://developer.squareup.com/docs/webhooks/step3validate
	Square: {
		methods:  []method{hmacSHA256("x-square-hmacsha256-signature", Base64, "{url}{body}")},
		accepted: http.StatusOK,
		left:     []string{"x-square-signature"},
		defaults: Defaults{Event: `payload.body?.type`, Entity: `payload.body?.data?.id`, Dedupe: `payload.body?.event_id`},
	},
	// https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint and
	// https://docs.discord.com/developers/events/webhook-events
	Discord: {
		methods: []method{{
			kind: KindEd25519, header: "x-signature-ed25519", encoding: Hex, signed: signs("{timestamp}{body}"),
			time: timeRule{header: "x-signature-timestamp", unit: Seconds}, tolerance: fiveMinutes,
		}},
		challenge: discordPing,
		accepted:  http.StatusNoContent,
		defaults:  Defaults{Event: `payload.body?.event?.type`},
	},
	// https://developers.facebook.com/docs/graph-api/webhooks/getting-started
	Meta: {
		methods:   []method{hmacSHA256("x-hub-signature-256", Hex, "{body}").withPrefix("sha256=")},
		challenge: metaVerification,
		asked:     []string{"hub.verify_token"},
		accepted:  http.StatusOK,
		left:      []string{"x-hub-signature"},
		defaults: Defaults{
			Event: `payload.body?.changes?.[0]?.field`, Entity: `payload.body?.id`, Split: `payload.body?.entry`, ItemsHash: true,
		},
	},
	// https://www.dropbox.com/developers/reference/webhooks
	Dropbox: {
		methods:   []method{hmacSHA256("x-dropbox-signature", Hex, "{body}")},
		challenge: dropboxVerification,
		accepted:  http.StatusOK,
	},
	// https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks
	MicrosoftGraph: {
		methods:   []method{{kind: kindBodySecret, carried: "value.[].clientState"}},
		challenge: graphValidation,
		defaults: Defaults{
			Event: `payload.body?.changeType`, Entity: `payload.body?.resourceData?.id ?? payload.body?.resource`, Dedupe: `payload.body?.id`, Split: `payload.body?.value`,
		},
	},
}

func standardHMAC(headers string) method {
	return method{
		kind: KindHMAC, algorithm: SHA256, header: headers + "-signature", encoding: Base64, separator: " ", prefix: "v1,",
		signed: signs("{id}.{timestamp}.{body}"), time: timeRule{header: headers + "-timestamp", unit: Seconds},
		id: headers + "-id", tolerance: fiveMinutes, key: keyStandard,
	}
}

func standardEd25519(headers string) method {
	m := standardHMAC(headers)
	m.kind, m.prefix = KindEd25519, "v1a,"
	return m
}

// Defaults are what the scheme reads in a delivery unless the hook says something else.
func (s Scheme) Defaults() Defaults { return presets[s.preset].defaults }

// Accepted is what a delivery is answered with that started runs, and that needed none: a duplicate, one that was
// filtered, one of a hook that is switched off. Senders switch off what fails.
func (s Scheme) Accepted() Answer {
	if status := presets[s.preset].accepted; status != 0 {
		return Answer{Status: status}
	}
	return Answer{Status: http.StatusAccepted}
}

// Refused is what a delivery is answered with that is not genuine, or too old: one text for all reasons.
func Refused() Answer {
	return Answer{
		Status: http.StatusUnauthorized, ContentType: "text/plain; charset=utf-8",
		Body: []byte("The delivery could not be verified.\n"),
	}
}
