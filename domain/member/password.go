package member

import (
	_ "embed" // the list of the commonest
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// What a password may be, in characters.
const (
	MinPassword = 12
	MaxPassword = 256
)

// Password is one that may be chosen. It never shows itself.
type Password struct{ text string }

// NewPassword checks a password that somebody chooses. The words are what anybody would try first besides the
// commonest passwords: their name, their address. A violation never repeats the password.
func NewPassword(text, field string, words ...string) (Password, error) {
	var rules domain.Rules
	length := utf8.RuneCountInString(text)
	rules.Check(utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl), field, domain.BadText, "must be text without control characters")
	rules.Check(length >= MinPassword, field, domain.TooShort, "must have at least %d characters", MinPassword)
	rules.Check(length <= MaxPassword, field, domain.TooLong, "must have at most %d characters", MaxPassword)
	rules.Check(length < MinPassword || length > MaxPassword || hardToGuess(text, words), field, domain.NotAllowed, "is too easy to guess; several words that do not belong together are good")
	if err := rules.Err("password_invalid", "The password may not be chosen."); err != nil {
		return Password{}, err
	}
	return Password{text}, nil
}

// Reveal returns it, to be hashed.
func (p Password) Reveal() string { return p.text }

// String hides it, from logs above all.
func (p Password) String() string { return "[redacted]" }

// GoString hides it as well.
func (p Password) GoString() string { return p.String() }

// minGuesses is of how many parts a password is made at least that is not guessed at once. A part is a character,
// or what stands for one only: a common password or word, a year, a sequence, a character again and again.
const minGuesses = 5

//go:embed commonest.txt
var commonestText string

// commonest are passwords of many people, in lower case: those of zxcvbn-ts (MIT licence), as far as they are
// long enough to be one here, and the 3,000 commonest of the shorter ones, which people make longer.
var commonest = sync.OnceValue(func() map[string]bool {
	all := make(map[string]bool)
	for word := range strings.FieldsSeq(commonestText) {
		all[word] = true
	}
	return all
})

// hardToGuess says whether a password has enough parts.
func hardToGuess(text string, words []string) bool {
	typed := []rune(strings.ToLower(text))
	own := ownWords(words)
	plain := slices.Clone(typed)
	for i, c := range plain {
		if letter, ok := standsFor[c]; ok {
			plain[i] = letter
		}
	}
	if commonest()[string(typed)] {
		return false
	}
	parts := make(map[string]bool) // the same part again is no other one
	for at := 0; at < len(typed); {
		n := partAt(typed[at:], plain[at:], own)
		parts[string(plain[at:at+n])] = true
		at += n
	}
	return len(parts) >= minGuesses
}

// standsFor are the letters that people replace.
var standsFor = map[rune]rune{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', '$': 's', '!': 'i'}

// ownWords are those of what somebody is called.
func ownWords(texts []string) map[string]bool {
	own := map[string]bool{"sluice": true}
	for _, text := range texts {
		own[strings.ToLower(text)] = true
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			own[word] = true
		}
	}
	return own
}

const (
	minWord = 4 // characters
	maxWord = 64
	minRun  = 3
)

// partAt says how many characters the next part has: as many as possible.
func partAt(typed, plain []rune, own map[string]bool) int {
	longest := max(runOf(typed), 1)
	for n := min(len(typed), maxWord); n >= max(minWord, longest+1); n-- {
		for _, word := range []string{string(typed[:n]), string(plain[:n])} {
			if commonest()[word] || own[word] {
				return n
			}
		}
	}
	if longest < 4 && isYear(typed) {
		return 4
	}
	return longest
}

// rows are those of keyboards, from which people take what lies next to one another.
var rows = []string{"qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "qsdfghjklm", "zxcvbnm", "yxcvbnm", "wxcvbn", "1234567890"}

// runOf is how many characters are each next to the one before, in one direction, or the same; 0 for too few.
func runOf(text []rune) int {
	best := 0
	for _, step := range []rune{-1, 0, 1} {
		n := 1
		for n < len(text) && text[n]-text[n-1] == step {
			n++
		}
		best = max(best, n)
	}
	for _, row := range rows {
		for _, line := range []string{row, reversed(row)} {
			n := 1
			for n < len(text) && strings.Contains(line, string(text[n-1:n+1])) {
				n++
			}
			best = max(best, n)
		}
	}
	if best < minRun {
		return 0
	}
	return best
}

func reversed(text string) string {
	all := []rune(text)
	slices.Reverse(all)
	return string(all)
}

// isYear says whether there is one that people remember something of.
func isYear(text []rune) bool {
	if len(text) < 4 {
		return false
	}
	century := string(text[:2])
	return (century == "19" || century == "20") && unicode.IsDigit(text[2]) && unicode.IsDigit(text[3])
}
