package member_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
)

func TestWhichPasswordsMayBeChosen(t *testing.T) {
	const length, long, control, easy = "must have at least 12 characters", "must have at most 256 characters",
		"must be text without control characters", "is too easy to guess; several words that do not belong together are good"
	for claim, c := range map[string]struct {
		text string
		want string
	}{
		"several words":                        {"correct horse battery staple", ""},
		"letters and digits at random":         {"f7Gk2mPq9xTz", ""},
		"only letters at random":               {"kqvbxhwmzdrt", ""},
		"another script":                       {"солнце и длинная зима", ""},
		"signs for words":                      {"早上好世界今天天气很好呀你", ""},
		"two common words and others":          {"monkey likes tea in spring", ""},
		"as long as may be":                    {strings.Repeat("a walk, ", 31) + "by a sea", ""},
		"too short":                            {"f7Gk2mPq9xT", length},
		"none":                                 {"", length},
		"characters are counted, not bytes":    {"éàüöèêâîôûç", length},
		"too long":                             {strings.Repeat("a walk, ", 32) + "!", long},
		"a line end":                           {"a long walk\nby the sea", control},
		"what is no text":                      {"a long walk by the sea\xff", control},
		"what cannot be kept":                  {"a long walk by the sea\x00", control},
		"the commonest":                        {"123456789012", easy},
		"the commonest word, made longer":      {"password1234", easy},
		"with capitals and signs":              {"Password1234!", easy},
		"with letters replaced":                {"P@$$w0rd2026", easy},
		"a word, a year and a sign":            {"Summer2026!!", easy},
		"one of the list that follows no rule": {"1qaz2wsx3edc", easy},
		"two common words":                     {"dragonmonkey", easy},
		"one character":                        {"aaaaaaaaaaaa", easy},
		"a few characters again and again":     {"abcabcabcabc", easy},
		"hardly any different ones":            {"xkxkxkxkxkxkxkxk", easy},
		"the alphabet":                         {"abcdefghijklmnop", easy},
		"backwards":                            {"zyxwvutsrqponm", easy},
		"a row of the keyboard":                {"qwertyuiopas", easy},
		"of a French one":                      {"azertyuiop12", easy},
		"of a German one":                      {"qwertzuiop12", easy},
		"their own name":                       {"lovelace1815", easy},
		"their own address":                    {"ada.lovelace@example.com", easy},
		"what they sign in to":                 {"sluicesluice1", easy},
	} {
		got, err := member.NewPassword(c.text, "password", "Ada Lovelace", "ada.lovelace@example.com")
		var said string
		if err != nil {
			said = violation(t, err)
		}
		if said != c.want || err == nil && got.Reveal() != c.text {
			t.Errorf("%s: %q, %q", claim, got.Reveal(), said)
		}
	}
}

func violation(t *testing.T, err error) string {
	t.Helper()
	var said *domain.Error
	if !errors.As(err, &said) || said.Kind != domain.Invalid || said.Code != "password_invalid" || len(said.Violations) != 1 || said.Violations[0].Field != "password" {
		t.Fatal(err)
	}
	return said.Violations[0].Message
}

func TestAPasswordIsNotShown(t *testing.T) {
	p, err := member.NewPassword("correct horse battery staple", "password")
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(verb, p); strings.Contains(text, "horse") {
			t.Errorf("%s shows %s", verb, text)
		}
		if text := fmt.Sprintf(verb, struct{ Password member.Password }{p}); strings.Contains(text, "horse") {
			t.Errorf("%s shows %s", verb, text)
		}
	}
	if _, err = member.NewPassword("short secret", "password", "short", "secret"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a violation shows it: %v", err)
	}
}
