package hook_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/hook"
)

// vector is a delivery that a sender or its library published, with the secret.
type vector struct {
	source string
	preset string
	secret string
	public bool // the secret is a public key
	url    string
	body   string
	header map[string]string
	at     time.Time
	want   hook.Result
}

const (
	twilioURL  = "https://mycompany.com/myapp.php?foo=1&bar=2"
	twilioForm = "Digits=1234&To=%2B18005551212&From=%2B14158675309&Caller=%2B14158675309&CallSid=CA1234567890ABCDE"
	twilioBody = `{"property": "value", "boolean": true}`
	twilioHash = "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
	form       = "application/x-www-form-urlencoded"
	slackBody  = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	squareBody = `{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}`
)

var standardHeaders = map[string]string{
	"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330", "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}

func vectors() []vector {
	standardResult := func(at int64) hook.Result {
		return hook.Result{Verified: true, Secret: "its", ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Timestamp: time.Unix(at, 0).UTC()}
	}
	dated := func(at time.Time) hook.Result { return hook.Result{Verified: true, Secret: "its", Timestamp: at.UTC()} }
	undated := hook.Result{Verified: true, Secret: "its"}
	return []vector{
		{
			source: "docs.github.com, Validating webhook deliveries, Testing the webhook payload validation",
			preset: "github", secret: "It's a Secret to Everybody", body: "Hello, World!",
			header: map[string]string{"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}, want: undated,
		},
		{
			source: "docs.slack.dev, Verifying requests from Slack",
			preset: "slack", secret: "8f742231b10e8888abcd99yyyzzz85a5", body: slackBody, at: time.Unix(1531420618, 0), want: dated(time.Unix(1531420618, 0)),
			header: map[string]string{"X-Slack-Request-Timestamp": "1531420618", "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503", "Content-Type": form},
		},
		{
			source: "standard-webhooks/standard-webhooks, libraries/javascript/src/webhook.test.ts, sign function works",
			preset: "standard", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", body: `{"test": 2432232314}`, at: time.Unix(1614265330, 0),
			header: standardHeaders, want: standardResult(1614265330),
		},
		{
			source: "the same, verification works with and without signature prefix",
			preset: "standard", secret: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", body: `{"test": 2432232314}`, at: time.Unix(1614265330, 0),
			header: standardHeaders, want: standardResult(1614265330),
		},
		{
			source: "standard-webhooks/standard-webhooks, libraries/go/webhook_asymmetric_test.go, TestAsymmetricWebhookSign (the public key of the seed it names)",
			preset: "standard", public: true, secret: "whpk_ZlN4eg7dSSqi0moX9hQUk3orrOouK3QVQSlJa248c/g=", body: `{"test": 2432232314}`, at: time.Unix(1614265330, 0), want: standardResult(1614265330),
			header: map[string]string{
				"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
				"webhook-signature": "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==",
			},
		},
		{
			source: "twilio/twilio-php, tests/Twilio/Unit/Security/RequestValidatorTest.php, testValidate",
			preset: "twilio", secret: "12345", url: twilioURL, body: twilioForm, header: map[string]string{"X-Twilio-Signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "Content-Type": form}, want: undated,
		},
		{
			source: "the same, testValidateWithArrayAndDuplicates",
			preset: "twilio", secret: "12345", url: twilioURL, body: "SidAccount=AC123&Digits=5678&Sid=CA123&Digits=1234&Digits=1234",
			header: map[string]string{"X-Twilio-Signature": "IK+Dwps556ElfBT0I3Rgjkr1wJU=", "Content-Type": form}, want: undated,
		},
		{
			source: "the same, testValidateWithBody",
			preset: "twilio", secret: "12345", url: twilioURL + "&bodySHA256=" + twilioHash, body: twilioBody,
			header: map[string]string{"X-Twilio-Signature": "a9nBmqA0ju/hNViExpshrM61xv4=", "Content-Type": "application/json"}, want: undated,
		},
		{
			source: "the same, testValidateRemovesPortHttps",
			preset: "twilio", secret: "12345", url: strings.Replace(twilioURL, ".com", ".com:1234", 1), body: twilioForm,
			header: map[string]string{"X-Twilio-Signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "Content-Type": form}, want: undated,
		},
		{
			source: "the same, testValidateAddsPortHttps",
			preset: "twilio", secret: "12345", url: twilioURL, body: twilioForm,
			header: map[string]string{"X-Twilio-Signature": "kvajT1Ptam85bY51eRf/AJRuM3w=", "Content-Type": form}, want: undated,
		},
		{
			source: "square/square-nodejs-sdk, tests/integration/webhooks.test.ts, signature validation pass",
			preset: "square", secret: "Ibxx_5AKakO-3qeNVR61Dw", url: "https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9", body: squareBody,
			header: map[string]string{"x-square-hmacsha256-signature": "GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4="}, want: undated,
		},
		{
			source: "the same, signature with escaped characters",
			preset: "square", secret: "signature-key", url: "https://webhook.site/webhooks", body: `{"data":{"type":"webhooks","id":">id<"}}`,
			header: map[string]string{"x-square-hmacsha256-signature": "Cxt7+aTi4rKgcA0bC4g9EHdVtLSDWdqccmL5MvihU4U="}, want: undated,
		},
		{
			source: "HubSpot/hubspot-api-python, tests/unit/utils/test_signature.py, test_get_signature__v3",
			preset: "hubspot", secret: "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy", url: "https://www.example.com/webhook_uri", body: "{'example_field':'example_value'}",
			at: time.UnixMilli(1693657560000), want: dated(time.UnixMilli(1693657560000)),
			header: map[string]string{"X-HubSpot-Request-Timestamp": "1693657560000", "X-HubSpot-Signature-v3": "K36dawei4A+QBNolUOqo7s91KQDWQ5MXZ/QufNYuk/Y="},
		},
		{
			source: "PaddleHQ/paddle-node-sdk, src/__tests__/notifications/webhooks-validator.node.test.ts, Valid signature",
			preset: "paddle", secret: "VALID_SECRET", body: `{"data": ["1", "2"]}`, at: time.Unix(1698796800, 0), want: dated(time.Unix(1698796800, 0)),
			header: map[string]string{"Paddle-Signature": "ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9"},
		},
		{
			source: "the same, Valid signature with multiple hashes",
			preset: "paddle", secret: "VALID_SECRET", body: `{"data": "value"}`, at: time.Unix(1698796800, 0), want: dated(time.Unix(1698796800, 0)),
			header: map[string]string{"Paddle-Signature": "ts=1698796800;h1=28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261;h1=28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261;h2=RANDOM_HASH"},
		},
	}
}

func TestWhatSendersPublishIsVerified(t *testing.T) {
	for _, v := range vectors() {
		s, r, secret := scheme(t, `{"preset": "`+v.preset+`"}`), post("https://example.com/h/t", v.body, v.header), hook.NewText("its", v.secret)
		if v.url != "" {
			r = post(v.url, v.body, v.header)
		}
		if v.public {
			secret = publicKey(t, "its", v.secret)
		}
		if diff := cmp.Diff(v.want, s.Verify([]hook.Secret{secret}, r, v.at)); diff != "" {
			t.Errorf("%s: %s\n%s", v.preset, v.source, diff)
		}
		explained := s.Explain([]hook.Secret{secret}, r, v.at)
		fits := v.public || strings.Contains(explained.Given, explained.Expected) || v.preset == "paddle" && strings.Contains(explained.Given, strings.TrimPrefix(explained.Expected, "ts=1698796800;"))
		if !explained.Verified || explained.Reason != "" || !fits || v.preset != "twilio" && strings.Contains(explained.SignedString+explained.Expected, v.secret) {
			t.Errorf("%s: %s: explained as %+v", v.preset, v.source, explained)
		}
	}
}
