package operator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	long    = "0123456789abcdef0123456789abcdef"
	another = "fedcba9876543210fedcba9876543210"
)

func TestTokensAreReadFromLines(t *testing.T) {
	all, err := ParseTokens("# who may what\n\nana=" + long + "  \r\nbilling@example.com=" + another + " read, tenants\n")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]Scope)
	for _, one := range all {
		got[one.Name] = one.scopes
	}
	if diff := cmp.Diff(map[string][]Scope{"ana": nil, "billing@example.com": {Read, OfTenants}}, got); diff != "" {
		t.Error(diff)
	}
	tokens := NewTokens(all...)
	for text, want := range map[string]string{long: "ana", another: "billing@example.com", "": "", long + " ": "", "ana=" + long: ""} {
		if found, ok := tokens.find(text); found.Name != want || ok != (want != "") {
			t.Errorf("%q is the token of %q", text, found.Name)
		}
	}
	if found, ok := NewTokens().find(""); ok {
		t.Errorf("where there is none, nothing is the token of %q", found.Name)
	}
}

func TestEveryLineThatIsWrongIsNamedWithoutItsToken(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "no line name=token",
		"# only this":                            "no line name=token",
		long:                                     "line 1 that does not read name=token",
		"ana=":                                   "line 1 that does not read name=token",
		"=" + long:                               "line 1 whose name is not 1 to 64 letters, digits and . _ @ -, or is operator",
		"operator=" + long:                       "line 1 whose name is not 1 to 64 letters, digits and . _ @ -, or is operator",
		"ana=short":                              "line 1 whose token is not 32 to 1024 printable ASCII characters without spaces and commas",
		"ana=" + long + " admin":                 "line 1 with a scope that is not read, tenants or runs",
		"ana=" + long + "\nana=" + another:       "line 2 has the name of another line",
		"ana=" + long + "\n\nben=" + long:        "line 3 has the token of another line",
		"ana=" + long + " x\nben=" + long + " y": "line 1 with a scope that is not read, tenants or runs\nline 2 with a scope that is not read, tenants or runs",
	} {
		_, err := ParseTokens(text)
		if err == nil || err.Error() != want || strings.Contains(err.Error(), long) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
