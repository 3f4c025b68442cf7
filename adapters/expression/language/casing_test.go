package language

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/dop251/goja"
)

// TestCaseOfEveryCharacterIsJavaScripts maps all of Unicode in one text, each
// character apart from the next.
func TestCaseOfEveryCharacterIsJavaScripts(t *testing.T) {
	var b strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r < 0xd800 || r > 0xdfff {
			b.WriteString(string(r) + "\n")
		}
	}
	vm := goja.New()
	if err := vm.Set("all", b.String()); err != nil {
		t.Fatal(err)
	}
	for method, ours := range map[string]func(string) string{"toUpperCase": toUpper, "toLowerCase": toLower} {
		mapped, err := vm.RunString("all." + method + "()")
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(mapped.String(), "\n")
		for i, got := range strings.Split(ours(b.String()), "\n") {
			if got != want[i] {
				t.Errorf("line %d of all.%s() is %q, want %q", i, method, got, want[i])
			}
		}
	}
}

func TestCaseOfSigmaDependsOnItsWord(t *testing.T) {
	var texts []string
	around := []string{"", "a", "A", "1", " ", "Σ", "'", ":", "\u0301", "\u00ad", "a'", "'a", "1\u0301", "\u0301\u0301b", "\u02b0", "\u24b6", "Σ.Σ", "😀"}
	for _, before := range around {
		for _, after := range around {
			texts = append(texts, before+"Σ"+after)
		}
	}
	compareCase(t, newOracle(t), texts)
}

func TestCaseLeavesHalvesOfPairsAlone(t *testing.T) {
	const half = "\xed\xa0\xbd"
	if got, want := toUpper("ß"+half+"é"), "SS"+half+"É"; got != want {
		t.Errorf("upper case %q, want %q", got, want)
	}
	if got, want := toLower("AΣ"+half+"É"), "aς"+half+"é"; got != want {
		t.Errorf("lower case %q, want %q", got, want)
	}
}

func compareCase(t *testing.T, o *oracle, texts []string) {
	t.Helper()
	o.set(t, "texts", texts)
	for method, ours := range map[string]func(string) string{"toUpperCase": toUpper, "toLowerCase": toLower} {
		mapped, err := o.vm.RunString("JSON.stringify(texts.map(s => s." + method + "()))")
		if err != nil {
			t.Fatal(err)
		}
		want := texts[:0:0]
		if err := json.Unmarshal([]byte(mapped.String()), &want); err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if got := ours(text); got != want[i] {
				t.Errorf("%q.%s() = %q, want %q", text, method, got, want[i])
			}
		}
	}
}
