package operator

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// tokenName is what a token can be called.
var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// ParseTokens reads tokens, one on each line that is not empty and does not begin with #:
// name=token, and behind a space its scopes, if it is not to open everything. Every line
// that is wrong is named, and no token is in an error.
func ParseTokens(text string) (all []Token, err error) {
	var wrong []error
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		one, problem := parseToken(line)
		switch {
		case problem != "":
		case slices.ContainsFunc(all, func(t Token) bool { return t.Name == one.Name }):
			problem = "has the name of another line"
		case slices.ContainsFunc(all, func(t Token) bool { return t.digest == one.digest }):
			problem = "has the token of another line"
		}
		if problem != "" {
			wrong = append(wrong, fmt.Errorf("line %d %s", i+1, problem))
			continue
		}
		all = append(all, one)
	}
	if len(all) == 0 && len(wrong) == 0 {
		wrong = append(wrong, errors.New("no line name=token"))
	}
	return all, errors.Join(wrong...)
}

// Same says whether two readings of a file say the same.
func Same(a, b []Token) bool {
	return slices.EqualFunc(a, b, func(a, b Token) bool {
		return a.Name == b.Name && a.digest == b.digest && slices.Equal(a.scopes, b.scopes)
	})
}

// Names lists those of tokens.
func Names(all []Token) []string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Name
	}
	return names
}

// parseToken reads one line, or says what is wrong with it.
func parseToken(line string) (t Token, problem string) {
	name, rest, found := strings.Cut(line, "=")
	words := strings.FieldsFunc(rest, func(c rune) bool { return c == ' ' || c == '\t' || c == ',' })
	switch {
	case !found || len(words) == 0:
		return t, "that does not read name=token"
	case !tokenName.MatchString(name) || name == Name:
		return t, "whose name is not 1 to 64 letters, digits and . _ @ -, or is " + Name
	case !IsToken(words[0]):
		return t, fmt.Sprintf("whose token is not %d to %d printable ASCII characters without spaces and commas", MinToken, MaxToken)
	}
	t = NewToken(words[0])
	t.Name = name
	for _, word := range words[1:] {
		if t.scopes = append(t.scopes, Scope(word)); !slices.Contains([]Scope{Read, OfTenants, OfRuns}, Scope(word)) {
			return t, "with a scope that is not read, tenants or runs"
		}
	}
	return t, ""
}
