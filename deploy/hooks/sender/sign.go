package sender

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

func sum(key string, parts ...string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	for _, part := range parts {
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

func inBase64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// prefixedHex signs the body (GitHub, Meta, Dropbox, Linear).
func prefixedHex(header, prefix string) func(Sender, *Delivery, time.Time) {
	return func(s Sender, d *Delivery, _ time.Time) {
		d.Header.Set(header, prefix+hex.EncodeToString(sum(s.Secret, string(d.Body))))
		d.proof = []string{header}
	}
}

// bodyBase64 signs the body (Shopify).
func bodyBase64(header string) func(Sender, *Delivery, time.Time) {
	return func(s Sender, d *Delivery, _ time.Time) {
		d.Header.Set(header, inBase64(sum(s.Secret, string(d.Body))))
		d.proof = []string{header}
	}
}

// listed puts the time and the signature in one header (Stripe, Paddle).
func listed(header, timeName, between, signatureName string) func(Sender, *Delivery, time.Time) {
	return func(s Sender, d *Delivery, at time.Time) {
		seconds := strconv.FormatInt(at.Unix(), 10)
		d.Header.Set(header, timeName+seconds+signatureName+hex.EncodeToString(sum(s.Secret, seconds, between, string(d.Body))))
		d.proof = []string{header}
	}
}

func slack(s Sender, d *Delivery, at time.Time) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	d.Header.Set("X-Slack-Request-Timestamp", seconds)
	d.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(sum(s.Secret, "v0:", seconds, ":", string(d.Body))))
	d.proof = []string{"X-Slack-Request-Timestamp", "X-Slack-Signature"}
}

// standard signs by Standard Webhooks, under its names of headers or those of Svix.
func standard(names string) func(Sender, *Delivery, time.Time) {
	return func(s Sender, d *Delivery, at time.Time) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s.Secret, "whsec_"))
		if err != nil {
			panic(err)
		}
		message := standardMessage(names, d, at)
		d.Header.Set(names+"-signature", "v1,"+inBase64(sum(string(key), message)))
	}
}

func standardAsymmetric(_ Sender, d *Delivery, at time.Time) {
	d.Header.Set("webhook-signature", "v1a,"+inBase64(ed25519.Sign(asymmetricKey, []byte(standardMessage("webhook", d, at)))))
}

func standardMessage(names string, d *Delivery, at time.Time) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	message := d.Header.Get("Idempotency-Key") // GitLab's is the same
	if message == "" {
		digest := sha256.Sum256(d.Body)
		message = "msg_" + hex.EncodeToString(digest[:10])
	}
	d.Header.Set(names+"-id", message)
	d.Header.Set(names+"-timestamp", seconds)
	d.proof = []string{names + "-id", names + "-timestamp", names + "-signature"}
	return message + "." + seconds + "." + string(d.Body)
}

func discord(_ Sender, d *Delivery, at time.Time) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	d.Header.Set("X-Signature-Timestamp", seconds)
	d.Header.Set("X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(discordKey, []byte(seconds+string(d.Body)))))
	d.proof = []string{"X-Signature-Timestamp", "X-Signature-Ed25519"}
}

func zendesk(s Sender, d *Delivery, at time.Time) {
	moment := at.UTC().Format(time.RFC3339)
	d.Header.Set("X-Zendesk-Webhook-Signature-Timestamp", moment)
	d.Header.Set("X-Zendesk-Webhook-Signature", inBase64(sum(s.Secret, moment, string(d.Body))))
	d.proof = []string{"X-Zendesk-Webhook-Signature-Timestamp", "X-Zendesk-Webhook-Signature"}
}

func square(s Sender, d *Delivery, _ time.Time) {
	d.Header.Set("X-Square-Hmacsha256-Signature", inBase64(sum(s.Secret, d.URL, string(d.Body))))
	d.proof = []string{"X-Square-Hmacsha256-Signature"}
}

func hubSpot(s Sender, d *Delivery, at time.Time) {
	milliseconds := strconv.FormatInt(at.UnixMilli(), 10)
	d.Header.Set("X-HubSpot-Request-Timestamp", milliseconds)
	d.Header.Set("X-HubSpot-Signature-v3", inBase64(sum(s.Secret, d.Method, d.URL, string(d.Body), milliseconds)))
	d.proof = []string{"X-HubSpot-Request-Timestamp", "X-HubSpot-Signature-v3"}
}

func twilio(s Sender, d *Delivery, signed string) {
	mac := hmac.New(sha1.New, []byte(s.Secret))
	mac.Write([]byte(signed))
	d.Header.Set("X-Twilio-Signature", inBase64(mac.Sum(nil)))
	d.proof = []string{"X-Twilio-Signature"}
}

func twilioForm(s Sender, d *Delivery, _ time.Time) {
	d.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
	form, err := url.ParseQuery(string(d.Body))
	if err != nil {
		panic(err)
	}
	var pairs []string
	for name, values := range form {
		pairs = append(pairs, name+values[0])
	}
	slices.Sort(pairs) // as sorting by name does, while no name begins another one
	twilio(s, d, d.URL+strings.Join(pairs, ""))
}

func twilioJSON(s Sender, d *Delivery, _ time.Time) {
	separator := "?"
	if strings.Contains(d.URL, "?") {
		separator = "&"
	}
	d.URL += separator + fmt.Sprintf("bodySHA256=%x", sha256.Sum256(d.Body))
	twilio(s, d, d.URL)
}
