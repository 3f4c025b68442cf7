package hook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
)

func fieldsOf(found []domain.Violation) []string {
	var fields []string
	for _, v := range found {
		fields = append(fields, v.Field+" "+string(v.Code))
	}
	return fields
}

func TestSchemesThatAreNotValid(t *testing.T) {
	for text, want := range map[string][]string{
		`[]`:                                     {"scheme wrong_type"},
		`{}`:                                     {"scheme conflicting"},
		`{"preset":null}`:                        {"scheme conflicting"},
		`{"preset":"github","kind":"none"}`:      {"scheme conflicting"},
		`{"preset":"GitHub"}`:                    {"scheme.preset not_allowed"},
		`{"preset":7}`:                           {"scheme.preset wrong_type"},
		`{"preset":"github","header":"X"}`:       {"scheme.header not_allowed"},
		`{"preset":"github","preset":"stripe"}`:  {"scheme.preset duplicate"},
		`{"kind":"bodySecret"}`:                  {"scheme.kind not_allowed"},
		`{"kind":"none","header":"X"}`:           {"scheme.header not_allowed"},
		`{"kind":"bearer","Kind":"none"}`:        {"scheme.Kind not_allowed"},
		`{"kind":"secretHeader","header":"X:Y"}`: {"scheme.header bad_format"},
		`{"kind":"secretHeader"}`:                {"scheme.header required"},
		`{"kind":"urlSecret"}`:                   {"scheme.parameter required"},
		`{"kind":"hmac"}`:                        {"scheme.algorithm required", "scheme.header required", "scheme.encoding required", "scheme.signed required"},
		`{"kind":"hmac","algorithm":"md5","header":"","encoding":"utf-8","signed":"{boddy}","toleranceSeconds":0,"separator":"|"}`: {
			"scheme.algorithm not_allowed", "scheme.header required", "scheme.encoding not_allowed", "scheme.separator not_allowed", "scheme.signed bad_format", "scheme.toleranceSeconds too_small",
		},
		ofHMAC(`"signed":"{timestamp}{body}"`):                                                       {"scheme.signed conflicting"},
		ofHMAC(`"signed":"{body}","timestampHeader":"X-T"`):                                          {"scheme.signed conflicting"},
		ofHMAC(`"signed":"{id}{body}"`):                                                              {"scheme.signed conflicting"},
		ofHMAC(`"signed":"{body}","idHeader":"X-I"`):                                                 {"scheme.signed conflicting"},
		ofHMAC(`"signed":"{url}"`):                                                                   {"scheme.signed not_allowed"},
		ofHMAC(`"signed":"{body"`):                                                                   {"scheme.signed bad_format"},
		ofHMAC(`"signed":"{body}}"`):                                                                 {"scheme.signed bad_format"},
		ofHMAC(`"signed":"{header:}{body}"`):                                                         {"scheme.signed bad_format"},
		ofHMAC(`"signed":"{form}{body}"`):                                                            {"scheme.signed bad_format"},
		ofHMAC(`"signed":"{body}","toleranceSeconds":10`):                                            {"scheme.toleranceSeconds conflicting"},
		ofHMAC(`"signed":"{body}{timestamp}","timestampPrefix":"t="`):                                {"scheme.timestampPrefix conflicting"},
		ofHMAC(`"signed":"{body}{timestamp}","timestampHeader":"X-T","toleranceSeconds":1.5`):        {"scheme.toleranceSeconds not_whole"},
		ofHMAC(`"signed":"{body}{timestamp}","timestampHeader":"X-T","toleranceSeconds":86401`):      {"scheme.toleranceSeconds too_large"},
		ofHMAC(`"signed":"{body}{timestamp}","timestampHeader":"X-T","timestampUnit":"days"`):        {"scheme.timestampUnit not_allowed"},
		ofHMAC(`"signed":"{body}{timestamp}","timestampHeader":"X-T","toleranceSeconds":"10"`):       {"scheme.toleranceSeconds wrong_type"},
		`{"kind":"bearer","x":"` + strings.Repeat("a", 5000) + `"}`:                                  {"scheme too_long"},
		`{"kind":"hmac","algorithm":"sha256","header":"X","encoding":"hex","signed":"{body}\u0000"}`: {"scheme.signed bad_character"},
	} {
		var r domain.Rules
		s := hook.ParseScheme(&r, "scheme", []byte(text))
		if diff := cmp.Diff(want, fieldsOf(r.Violations())); diff != "" {
			t.Errorf("%s: %s\n%v", text, diff, r.Violations())
		}
		if restored := hook.RestoreScheme(text); restored.Verify([]hook.Secret{hook.NewText("a", "b")}, post(address, "", nil), noon).Verified {
			t.Errorf("%s: verifies when restored", text)
		}
		_ = s
	}
}

func ofHMAC(more string) string {
	return `{"kind":"hmac","algorithm":"sha256","header":"X-Sig","encoding":"hex",` + more + `}`
}

func TestASchemeComesBackAsItWasSent(t *testing.T) {
	for _, text := range []string{
		`{"preset": "github"}`, `{"kind":"none"}`,
		ofHMAC(`"signed":"{body}.{timestamp}","timestampPrefix":"t=","separator":",","prefix":"v1=","toleranceSeconds":60`),
	} {
		s := scheme(t, text)
		restored := hook.RestoreScheme(s.Document().String())
		if s.Document().String() != text || restored.Name() != s.Name() || restored.IsOpen() != s.IsOpen() {
			t.Errorf("%s: comes back as %s, %s", text, restored.Document(), restored.Name())
		}
	}
	if s := hook.RestoreScheme(`{"preset":"of a newer version"}`); s.Verify(nil, post(address, "", nil), noon).Verified || s.IsOpen() || s.Name() != "" {
		t.Errorf("a scheme of a newer version verifies: %+v", s)
	}
}

func TestASecretIsNotPrinted(t *testing.T) {
	secret := hook.NewText("conn_1", "the text of it")
	held := struct {
		A hook.Secret
		b hook.Secret
	}{secret, secret}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if got := fmt.Sprintf(verb, held) + fmt.Sprintf(verb, []hook.Secret{secret}); strings.Contains(got, "the text") {
			t.Errorf("%s prints %s", verb, got)
		}
	}
}

func TestPublicKeys(t *testing.T) {
	for claim, c := range map[string]struct {
		text string
		want bool
	}{
		"hexadecimal":              {"65537872aaddd492aa2d26a17f5850524de8aeb3a8b8add0550494a25adb8f1cf8"[:64], true},
		"base64 behind its prefix": {"whpk_ZlN4eg7dSSqi0moX9hQUk3orrOouK3QVQSlJa248c/g=", true},
		"base64 without padding":   {"ZlN4eg7dSSqi0moX9hQUk3orrOouK3QVQSlJa248c/g", true},
		"PEM":                      {"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAZlN4eg7dSSqi0moX9hQUk3orrOouK3QVQSlJa248c/g=\n-----END PUBLIC KEY-----\n", true},
		"too short":                {"whpk_ZlN4eg==", false},
		"a private key":            {"whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=", false},
		"nothing":                  {"", false},
		"PEM of something else":    {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", false},
	} {
		if _, err := hook.NewPublicKey("its", c.text); (err == nil) != c.want {
			t.Errorf("%s: %v", claim, err)
		}
	}
}
