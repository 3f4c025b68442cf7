package tenant_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/tenant"
)

func entropyOf(b byte) (e [tenant.KeyEntropy]byte) {
	for i := range e {
		e[i] = b + byte(i)
	}
	return e
}

func TestAKeyTextIsItsPrefixAndFortyBase62Characters(t *testing.T) {
	for _, kt := range tenant.KeyTypes() {
		text := tenant.NewKeyText(kt, entropyOf(7))
		plain := text.Reveal()
		if len(plain) != 43 || !strings.HasPrefix(plain, kt.Prefix()) {
			t.Errorf("a %s key reads %q", kt, plain)
		}
		if text.Type() != kt || text.LastFour() != plain[39:] {
			t.Errorf("type %s, last four %q of %q", text.Type(), text.LastFour(), plain)
		}
		again, err := tenant.ParseKeyText(plain)
		if err != nil || again != text || again.Hash() != text.Hash() {
			t.Errorf("parsing %q gave %v, %v", plain, again, err)
		}
	}
}

func TestDifferentEntropyGivesDifferentKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.SliceOfN(rapid.Byte(), tenant.KeyEntropy, tenant.KeyEntropy)
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		a[0], b[0] = a[0]&3, b[0]&3 // 34 base62 characters hold 202 of the 208 bits
		x := tenant.NewKeyText(tenant.Secret, [tenant.KeyEntropy]byte(a))
		y := tenant.NewKeyText(tenant.Secret, [tenant.KeyEntropy]byte(b))
		if (x == y) != (string(a) == string(b)) {
			t.Fatalf("%x and %x give %q and %q", a, b, x.Reveal(), y.Reveal())
		}
	})
}

func TestATypingErrorIsRecognizedWithoutALookUp(t *testing.T) {
	plain := tenant.NewKeyText(tenant.Secret, entropyOf(1)).Reveal()
	for i := range len(plain) {
		wrong := []byte(plain)
		if wrong[i] = 'x'; plain[i] == 'x' {
			wrong[i] = 'y'
		}
		if _, err := tenant.ParseKeyText(string(wrong)); !errors.Is(err, tenant.ErrMalformedKey) {
			t.Errorf("a wrong character at %d is accepted: %v", i, err)
		}
	}
	for _, text := range []string{"", "sk_", plain[:42], plain + "a", " " + plain[1:], "pk_" + plain[3:], strings.ToUpper(plain)} {
		if _, err := tenant.ParseKeyText(text); !errors.Is(err, tenant.ErrMalformedKey) {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestPrintingAKeyShowsNothingOfIt(t *testing.T) {
	text := tenant.NewKeyText(tenant.Secret, entropyOf(9))
	asJSON, err := json.Marshal(map[string]any{"key": text})
	if err != nil {
		t.Fatal(err)
	}
	holder := struct{ Key tenant.KeyText }{text}
	for _, shown := range []string{
		text.String(), fmt.Sprint(text), fmt.Sprintf("%v %+v %#v %s %q", text, text, text, text, text),
		fmt.Sprintf("%v %+v %#v", holder, holder, holder), string(asJSON),
	} {
		if strings.Contains(shown, text.Reveal()[3:10]) || strings.Contains(shown, text.LastFour()) {
			t.Errorf("printed as %q", shown)
		}
	}
}

func FuzzParseKeyText(f *testing.F) {
	f.Add(tenant.NewKeyText(tenant.Secret, entropyOf(1)).Reveal())
	f.Add(tenant.NewKeyText(tenant.Public, entropyOf(2)).Reveal())
	f.Add("sk_")
	f.Add("pk_\x00" + strings.Repeat("é", 20))
	f.Fuzz(func(t *testing.T, text string) {
		key, err := tenant.ParseKeyText(text)
		if err != nil {
			if strings.Contains(err.Error(), text) && len(text) > 8 {
				t.Errorf("the error repeats the text: %v", err)
			}
			return
		}
		if key.Reveal() != text || len(text) != 43 {
			t.Errorf("accepted %q as %q", text, key.Reveal())
		}
	})
}

func BenchmarkParseKeyText(b *testing.B) {
	plain := tenant.NewKeyText(tenant.Secret, entropyOf(3)).Reveal()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tenant.ParseKeyText(plain); err != nil {
			b.Fatal(err)
		}
	}
}
