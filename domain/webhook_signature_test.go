package domain_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
)

// The example is from the tests of Standard Webhooks.
func TestASignatureIsThatOfTheStandard(t *testing.T) {
	at := time.Unix(1614265330, 999_000_000)
	got := domain.Sign([]domain.SigningSecret{parse(t, secretText)}, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`))
	want := domain.Signature{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Timestamp: "1614265330", Values: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}
	if got != want {
		t.Errorf("%+v is not %+v", got, want)
	}
	if none := domain.Sign(nil, "msg_1", at, nil); none.Values != "" {
		t.Errorf("no secret signs %q", none.Values)
	}
}

// headers are what a receiver gets.
func headers(s domain.Signature) http.Header {
	h := http.Header{}
	h.Set(domain.WebhookIDHeader, s.ID)
	h.Set(domain.WebhookTimestampHeader, s.Timestamp)
	h.Set(domain.WebhookSignatureHeader, s.Values)
	return h
}

func TestEverySecretOfTheMessageVerifiesItAndNoOtherDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.SliceOfN(rapid.Byte(), domain.SecretEntropy, domain.SecretEntropy), 2, 5,
			func(b []byte) string { return string(b) }).Draw(t, "keys")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		id := rapid.StringMatching(`msg_[0-9a-z]{1,26}`).Draw(t, "id")
		at := time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "at"), 0)
		var all []domain.SigningSecret
		for _, k := range keys {
			all = append(all, domain.NewSigningSecret([domain.SecretEntropy]byte(k)))
		}
		stranger, signing := all[0], all[1:]
		h := headers(domain.Sign(signing, id, at, body))
		if n := len(strings.Split(h.Get(domain.WebhookSignatureHeader), " ")); n != len(signing) {
			t.Fatalf("%d signatures of %d secrets", n, len(signing))
		}
		verify := func(s domain.SigningSecret, body []byte) error {
			receiver, err := standardwebhooks.NewWebhook(s.Reveal())
			if err != nil {
				t.Fatal(err)
			}
			return receiver.VerifyIgnoringTimestamp(body, h)
		}
		for _, s := range signing {
			if err := verify(s, body); err != nil {
				t.Fatal(err)
			}
			if verify(s, append(body, 'x')) == nil {
				t.Fatal("another body is verified")
			}
		}
		if verify(stranger, body) == nil {
			t.Fatal("another secret verifies it")
		}
	})
}

func BenchmarkSign(b *testing.B) {
	body := []byte(`{"id":"evt_1","data":"` + strings.Repeat("x", 1000) + `"}`)
	for name, secrets := range map[string][]domain.SigningSecret{
		"one secret":  {parse(b, secretText)},
		"two secrets": {parse(b, secretText), domain.NewSigningSecret([domain.SecretEntropy]byte{})},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				domain.Sign(secrets, "msg_01h455vb4pex5vsknk084sn02q", time.Unix(1614265330, 0), body)
			}
		})
	}
}
