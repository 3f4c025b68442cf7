package hook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain/hook"
)

func TestATokenIsKnownByItsShapeAndHiddenWhereItIsPrinted(t *testing.T) {
	token := hook.NewToken([hook.TokenEntropy]byte{1, 2, 3})
	text := token.Reveal()
	if read, ok := hook.ParseToken(text); !ok || read.Hash() != token.Hash() {
		t.Errorf("%s is not read", text)
	}
	secret := strings.TrimPrefix(text, hook.TokenPrefix)
	for _, printed := range []string{fmt.Sprint(token), fmt.Sprintf("%+v %#v", token, token), token.Hint()} {
		if strings.Contains(printed, secret[:16]) {
			t.Errorf("%s shows the token", printed)
		}
	}
	for claim, wrong := range map[string]string{
		"nothing": "", "another prefix": "sk_" + secret, "no prefix": secret, "one character less": text[:len(text)-1], "one more": text + "a",
		"capitals": hook.TokenPrefix + strings.ToUpper(secret), "a slash": text[:len(text)-1] + "/", "a digit that is none of the alphabet": text[:len(text)-1] + "1",
	} {
		if _, ok := hook.ParseToken(wrong); ok {
			t.Errorf("%s: %q is a token", claim, wrong)
		}
	}
}
