package jsonread_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
)

// asked is a ListQuery in comparable form.
type asked struct {
	Limit, Offset int
	SortBy        string
	Descending    bool
	IsActive      any
	Search        string
	PageBased     bool
}

func list(t testing.TB, raw string) (asked, []domain.Violation) {
	t.Helper()
	q, err := jsonread.ParseQuery(raw)
	if err != nil {
		t.Fatal(err)
	}
	var r domain.Rules
	l := q.List(&r, "name", "createdAt")
	return asked{l.Page.Limit(), l.Page.Offset(), l.SortBy, l.Descending, plain(l.IsActive), l.Search, l.PageBased}, r.Violations()
}

func TestListReadsWhatIsAsked(t *testing.T) {
	for claim, c := range map[string]struct {
		raw  string
		want asked
	}{
		"nothing asked: the first twenty, the newest first": {"", asked{Limit: 20, Descending: true}},
		"a limit and an offset":                             {"limit=100&offset=7", asked{Limit: 100, Offset: 7, Descending: true}},
		"a page of the default size":                        {"page=3", asked{Limit: 20, Offset: 60, Descending: true}},
		"a page of a size":                                  {"page=2&pageSize=5", asked{Limit: 5, Offset: 10, Descending: true, PageBased: true}},
		"limit and pageSize agree":                          {"limit=5&pageSize=5", asked{Limit: 5, Descending: true, PageBased: true}},
		"page and offset agree":                             {"limit=5&page=2&offset=10", asked{Limit: 5, Offset: 10, Descending: true}},
		"an order":                                          {"sortBy=name&sortOrder=asc", asked{Limit: 20, SortBy: "name"}},
		"filters":                                           {"isActive=false&search=50%25+off%3B;x", asked{Limit: 20, Descending: true, IsActive: false, Search: "50% off;;x"}},
		"active ones":                                       {"isActive=true&search=", asked{Limit: 20, Descending: true, IsActive: true}},
		"parameters nobody knows":                           {"Limit=0&x=1&x=2&&=", asked{Limit: 20, Descending: true}},
		"the greatest offset":                               {"offset=9007199254740991", asked{Limit: 20, Offset: 9007199254740991, Descending: true}},
		"leading zeros":                                     {"limit=007", asked{Limit: 7, Descending: true}},
		"a search of 255 characters":                        {"search=" + strings.Repeat("é", 255), asked{Limit: 20, Descending: true, Search: strings.Repeat("é", 255)}},
	} {
		t.Run(claim, func(t *testing.T) {
			got, found := list(t, c.raw)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if len(found) > 0 {
				t.Error(found)
			}
		})
	}
}

func TestListTellsEveryViolation(t *testing.T) {
	one := func(field string, code domain.ViolationCode, message string) []domain.Violation {
		return []domain.Violation{{Field: field, Code: code, Message: message}}
	}
	for claim, c := range map[string]struct {
		raw  string
		want []domain.Violation
	}{
		"a limit of 0":               {"limit=0", one("limit", domain.TooSmall, "must be at least 1, not 0")},
		"a limit of 101":             {"limit=101", one("limit", domain.TooLarge, "must be at most 100, not 101")},
		"a limit beyond an int":      {"limit=99999999999999999999", one("limit", domain.TooLarge, "must be at most 100, not 99999999999999999999")},
		"an offset below an int":     {"offset=-99999999999999999999", one("offset", domain.TooSmall, "must be at least 0, not -99999999999999999999")},
		"a negative offset":          {"offset=-1", one("offset", domain.TooSmall, "must be at least 0, not -1")},
		"an offset too large":        {"offset=9007199254740992", one("offset", domain.TooLarge, "must be at most 9007199254740991, not 9007199254740992")},
		"a limit with a fraction":    {"limit=1.0", one("limit", domain.BadFormat, `must be a whole number, not "1.0"`)},
		"a limit with a plus":        {"limit=%2B1", one("limit", domain.BadFormat, `must be a whole number, not "+1"`)},
		"an empty limit":             {"limit=", one("limit", domain.BadFormat, `must be a whole number, not ""`)},
		"a lone minus":               {"limit=-", one("limit", domain.BadFormat, `must be a whole number, not "-"`)},
		"a limit given twice":        {"limit=5&limit=5", one("limit", domain.Duplicate, "must be given once, not 2 times")},
		"pageSize against limit":     {"limit=5&pageSize=6", one("pageSize", domain.Conflicting, "is another name of limit, which is 5, so it must not be 6")},
		"page against offset":        {"page=2&offset=41", one("page", domain.Conflicting, "must agree with offset: page 2 begins at offset 40, not at 41")},
		"a page that overflows":      {"page=9007199254740991", one("page", domain.TooLarge, "must be at most 450359962737049, not 9007199254740991")},
		"the same next to an offset": {"page=9007199254740991&offset=3", one("page", domain.TooLarge, "must be at most 450359962737049, not 9007199254740991")},
		"another field to sort by":   {"sortBy=id", one("sortBy", domain.NotAllowed, `must be "name" or "createdAt", not "id"`)},
		"no field to sort by":        {"sortBy=", one("sortBy", domain.NotAllowed, `must be "name" or "createdAt", not ""`)},
		"an order in capitals":       {"sortOrder=ASC", one("sortOrder", domain.NotAllowed, `must be "asc" or "desc", not "ASC"`)},
		"a boolean as a number":      {"isActive=1", one("isActive", domain.NotAllowed, `must be true or false, not "1"`)},
		"a search that is too long":  {"search=" + strings.Repeat("é", 256), one("search", domain.TooLong, "must be at most 255 characters long, not 256")},
		"a search with a NUL":        {"search=a%00", one("search", domain.BadText, "must not contain the character U+0000")},
		"a search that is no UTF-8":  {"search=%ff", one("search", domain.BadText, "must be valid UTF-8")},
		"a filter that is no UTF-8":  {"isActive=%ff", one("isActive", domain.BadText, "must be valid UTF-8")},
		"everything wrong, all at once": {"limit=0&offset=x&page=-1&sortBy=x&sortOrder=x&isActive=x&search=a&search=b", []domain.Violation{
			{Field: "limit", Code: domain.TooSmall, Message: "must be at least 1, not 0"},
			{Field: "offset", Code: domain.BadFormat, Message: `must be a whole number, not "x"`},
			{Field: "page", Code: domain.TooSmall, Message: "must be at least 0, not -1"},
			{Field: "sortBy", Code: domain.NotAllowed, Message: `must be "name" or "createdAt", not "x"`},
			{Field: "sortOrder", Code: domain.NotAllowed, Message: `must be "asc" or "desc", not "x"`},
			{Field: "isActive", Code: domain.NotAllowed, Message: `must be true or false, not "x"`},
			{Field: "search", Code: domain.Duplicate, Message: "must be given once, not 2 times"},
		}},
	} {
		t.Run(claim, func(t *testing.T) {
			_, found := list(t, c.raw)
			if diff := cmp.Diff(c.want, found); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAQueryWithABrokenEscapeIsRefused(t *testing.T) {
	_, err := jsonread.ParseQuery("a=1&search=100%")
	want := refusal{Code: "malformed_query",
		Message: `The query string has a "%" without two hexadecimal digits behind it, in "search=100%". Write a percent sign as %25.`}
	if diff := cmp.Diff(want, refusalOf(t, err)); diff != "" {
		t.Error(diff)
	}
}

func TestAListWithoutSortableFieldsIgnoresSortBy(t *testing.T) {
	q, err := jsonread.ParseQuery("sortBy=name")
	if err != nil {
		t.Fatal(err)
	}
	var r domain.Rules
	if l := q.List(&r); l.SortBy != "" || len(r.Violations()) > 0 {
		t.Errorf("%+v, %v", l, r.Violations())
	}
}

// Whatever the query says, either something is told or the page can be served.
func TestAPageIsInRangeOrRefused(t *testing.T) {
	number := rapid.OneOf(rapid.StringMatching(`-?[0-9]{0,20}`), rapid.StringMatching(`[0-9]{1,2}`))
	rapid.Check(t, func(rt *rapid.T) {
		var parts []string
		for _, name := range []string{"limit", "pageSize", "offset", "page"} {
			if rapid.Bool().Draw(rt, "with "+name) {
				parts = append(parts, name+"="+number.Draw(rt, name))
			}
		}
		raw := strings.Join(parts, "&")
		got, found := list(t, raw)
		if len(found) > 0 {
			return
		}
		if got.Limit < 1 || got.Limit > 100 || got.Offset < 0 || got.Offset > 1<<53-1 {
			rt.Fatalf("%s gave %+v", raw, got)
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	f.Add("limit=5&offset=3&page=1&search=%41+b;c")
	f.Add("search=%zz")
	f.Add("&=&a&&%00=%ff")
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := jsonread.ParseQuery(raw)
		if err != nil {
			return
		}
		var r domain.Rules
		l := q.List(&r, "name")
		if len(r.Violations()) == 0 && (l.Page.Limit() < 1 || l.Page.Offset() < 0 || strings.ContainsRune(l.Search, 0)) {
			t.Fatalf("%q gave %+v", raw, l)
		}
	})
}
