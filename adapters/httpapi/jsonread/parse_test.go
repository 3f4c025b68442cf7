package jsonread_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
)

// refusal is what a client is told about a body, compared whole.
type refusal struct {
	Code, Message string
	Violations    []domain.Violation
}

func refusalOf(t *testing.T, err error) refusal {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.Invalid {
		t.Fatalf("the error is %v, not an Invalid one", err)
	}
	return refusal{e.Code, e.Message, e.Violations}
}

func malformed(what string, violations ...domain.Violation) refusal {
	return refusal{"malformed_json", "The request body is not acceptable JSON: " + what + ".", violations}
}

func badFormat(field, what string) domain.Violation {
	return domain.Violation{Field: field, Code: domain.BadFormat, Message: "is not valid JSON: " + what}
}

func TestParseRefusesWhatBreaksTheSyntax(t *testing.T) {
	for claim, c := range map[string]struct {
		body string
		want refusal
	}{
		"a body cut off inside an object": {`{"a":1`, malformed(`line 1, column 7: expected "," or "}" after a member, not the end of the body`)},
		"a body cut off before a value": {"{\n  \"a\":", malformed(`line 2, column 7: expected a value, not the end of the body`,
			badFormat("a", "expected a value, not the end of the body"))},
		"a body cut off inside a string": {`{"a":"x`, malformed(`line 1, column 8: expected the end of the string, not the end of the body`,
			badFormat("a", "expected the end of the string, not the end of the body"))},
		"a second document":         {`{} {}`, malformed(`line 1, column 4: expected the end of the body after the JSON document, not '{'`)},
		"a comma behind a member":   {`{"a":1,}`, malformed(`line 1, column 8: expected another member after ",", not '}'`)},
		"a comma behind an element": {`{"a":[1,]}`, malformed(`line 1, column 9: expected another element after ",", not ']'`, badFormat("a[1]", `expected another element after ",", not ']'`))},
		"elements without a comma":  {`{"a":[1 2]}`, malformed(`line 1, column 9: expected "," or "]" after an element, not '2'`, badFormat("a[0]", `expected "," or "]" after an element, not '2'`))},
		"members without a comma":   {`{"é":1 "b":2}`, malformed(`line 1, column 8: expected "," or "}" after a member, not a string`)},
		"a name without quotes":     {`{a:1}`, malformed(`line 1, column 2: expected the name of a member in double quotes, not 'a'`)},
		"a name without a value": {`{"a"}`, malformed(`line 1, column 5: expected ":" after the name of a member, not '}'`,
			badFormat("a", `expected ":" after the name of a member, not '}'`))},
		"a misspelled word": {`{"a":{"b":[0,tru]}}`, malformed(`line 1, column 14: expected a value, not "tru"`,
			badFormat("a.b[1]", `expected a value, not "tru"`))},
		"NaN":                           {`{"a":NaN}`, malformed(`line 1, column 6: expected a value, not 'N'`, badFormat("a", `expected a value, not 'N'`))},
		"a number that begins with 0":   {`{"a":012}`, malformed(`line 1, column 7: expected a number without leading zeros`, badFormat("a", "expected a number without leading zeros"))},
		"a number that ends with .":     {`{"a":1.}`, malformed(`line 1, column 8: expected a digit after the decimal point, not '}'`, badFormat("a", "expected a digit after the decimal point, not '}'"))},
		"a number without an exponent":  {`{"a":1e+}`, malformed(`line 1, column 9: expected a digit in the exponent, not '}'`, badFormat("a", "expected a digit in the exponent, not '}'"))},
		"a lone minus":                  {`{"a":-}`, malformed(`line 1, column 7: expected a digit, not '}'`, badFormat("a", "expected a digit, not '}'"))},
		"an unknown escape":             {`{"a":"\x"}`, malformed(`line 1, column 7: expected one of "\/bfnrtu after the backslash`, badFormat("a", `expected one of "\/bfnrtu after the backslash`))},
		"an escape that is cut off":     {`{"a":"\u00"}`, malformed(`line 1, column 7: expected four hexadecimal digits after \u`, badFormat("a", `expected four hexadecimal digits after \u`))},
		"a line break inside a string":  {"{\"a\":\"x\ny\"}", malformed(`line 1, column 8: expected the end of the string or an escape, not '\n'`, badFormat("a", `expected the end of the string or an escape, not '\n'`))},
		"a byte order mark":             {"\xEF\xBB\xBF{}", malformed("line 1, column 1: expected the JSON to begin at once, not a byte order mark")},
		"a byte that is no UTF-8":       {"{\xff}", malformed("line 1, column 2: expected the name of a member in double quotes, not a byte that is no UTF-8")},
		"a mistake behind a finding":    {`{"a":1,"a":2,}`, malformed(`line 1, column 14: expected another member after ",", not '}'`, domain.Violation{Field: "a", Code: domain.Duplicate, Message: "must not occur twice in the same object"})},
		"nesting one level too deep":    {strings.Repeat("[", 65), malformed("line 1, column 65: expected at most 64 levels of arrays and objects, one within the other", badFormat(strings.Repeat("[0]", 64), "expected at most 64 levels of arrays and objects, one within the other"))},
		"a top level that is an array":  {`[]`, refusal{"wrong_type", "The request body must be a JSON object, not an array.", []domain.Violation{{Code: domain.WrongType, Message: "the body must be a JSON object, not an array"}}}},
		"a top level that is null":      {` null `, refusal{"wrong_type", "The request body must be a JSON object, not null.", []domain.Violation{{Code: domain.WrongType, Message: "the body must be a JSON object, not null"}}}},
		"a broken array, syntax before": {`[1`, malformed(`line 1, column 3: expected "," or "]" after an element, not the end of the body`, badFormat("[0]", `expected "," or "]" after an element, not the end of the body`))},
	} {
		t.Run(claim, func(t *testing.T) {
			_, err := jsonread.Parse([]byte(c.body))
			if diff := cmp.Diff(c.want, refusalOf(t, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseTellsEveryUnacceptableStringAndName(t *testing.T) {
	twice := func(field string) domain.Violation {
		return domain.Violation{Field: field, Code: domain.Duplicate, Message: "must not occur twice in the same object"}
	}
	bad := func(field, message string) domain.Violation {
		return domain.Violation{Field: field, Code: domain.BadText, Message: message}
	}
	const nul, half = "must not contain the character U+0000", `must not contain one half of a surrogate pair, such as \ud800 alone`
	const most, least = "must be at most 1.7976931348623157e+308, not ", "must be at least -1.7976931348623157e+308, not "
	digits := strings.Repeat("9", 310)
	for claim, c := range map[string]struct {
		body string
		want refusal
	}{
		"a member written twice":             {`{"a":1,"a":1}`, malformed("line 1, column 8: a must not occur twice in the same object", twice("a"))},
		"a member escaped the second time":   {`{"a":1,"\u0061":1}`, malformed("line 1, column 8: a must not occur twice in the same object", twice("a"))},
		"a member written twice deep within": {`{"n":[{},{"c":{"x":1,"x":2}}]}`, malformed("line 1, column 22: n[1].c.x must not occur twice in the same object", twice("n[1].c.x"))},
		"the last of twenty members again": {`{"0":0,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"\u0067":0,"3":1}`,
			malformed("line 1, column 110: g must not occur twice in the same object", twice("g"), twice("3"))},
		"an escaped NUL":                  {`{"a":"x\u0000"}`, malformed("line 1, column 6: a "+nul, bad("a", nul))},
		"a raw NUL":                       {"{\"a\":\"\x00\"}", malformed("line 1, column 6: a "+nul, bad("a", nul))},
		"a NUL in a name":                 {`{"o":{"a\u0000b":1}}`, malformed("line 1, column 7: o.a\uFFFDb "+nul, bad("o.a\uFFFDb", nul))},
		"a high surrogate alone":          {`{"a":"\ud800"}`, malformed("line 1, column 6: a "+half, bad("a", half))},
		"a low surrogate alone":           {`{"a":"\udc00x"}`, malformed("line 1, column 6: a "+half, bad("a", half))},
		"two high surrogates":             {`{"a":"\ud800\ud800"}`, malformed("line 1, column 6: a "+half, bad("a", half))},
		"a surrogate before other escape": {`{"a":"\ud800\u0041"}`, malformed("line 1, column 6: a "+half, bad("a", half))},
		"a string that is no UTF-8":       {"{\"a\":\"\xff\",\"b\":\"é\"}", malformed("line 1, column 6: a must be valid UTF-8", bad("a", "must be valid UTF-8"))},
		"half a character of UTF-8":       {"{\"a\":\"\xc3\"}", malformed("line 1, column 6: a must be valid UTF-8", bad("a", "must be valid UTF-8"))},
		"a surrogate written as UTF-8":    {"{\"a\":\"\xed\xa0\x80\"}", malformed("line 1, column 6: a must be valid UTF-8", bad("a", "must be valid UTF-8"))},
		"a number too large for a double": {`{"a":[1e308,1e309]}`, malformed("line 1, column 13: a[1] "+most+"1e309",
			domain.Violation{Field: "a[1]", Code: domain.TooLarge, Message: most + "1e309"})},
		"a number too small for a double": {`{"a":-1E+400}`, malformed("line 1, column 6: a "+least+"-1E+400",
			domain.Violation{Field: "a", Code: domain.TooSmall, Message: least + "-1E+400"})},
		"a number of too many digits": {`{"a":` + digits + `}`, malformed("line 1, column 6: a "+most+digits[:64]+"…",
			domain.Violation{Field: "a", Code: domain.TooLarge, Message: most + digits[:64] + "…"})},
		"several mistakes": {`{"a":"\u0000","b":["x","\udfff"],"b":1}`, malformed("line 1, column 6: a "+nul,
			bad("a", nul), bad("b[1]", half), twice("b"))},
	} {
		t.Run(claim, func(t *testing.T) {
			_, err := jsonread.Parse([]byte(c.body))
			if diff := cmp.Diff(c.want, refusalOf(t, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseTellsAtMostFiftyViolations(t *testing.T) {
	_, err := jsonread.Parse([]byte(`{"a":[` + strings.Repeat(`"\u0000",`, 1000) + `1]}`))
	if got := len(refusalOf(t, err).Violations); got != 50 {
		t.Errorf("%d violations", got)
	}
}

func TestParseShortensAndCleansNamesInPaths(t *testing.T) {
	_, err := jsonread.Parse([]byte(`{"` + strings.Repeat("é", 100) + `":{"\n\u007f` + "\xff" + `":1}}`))
	want := strings.Repeat("é", 64) + "….\uFFFD\uFFFD\uFFFD"
	if got := refusalOf(t, err).Violations[0].Field; got != want {
		t.Errorf("the path is %q, not %q", got, want)
	}
}

func TestParseAccepts(t *testing.T) {
	for claim, c := range map[string]struct{ body, want string }{
		"nothing":                     {"", "{}"},
		"white space":                 {" \t\r\n", "{}"},
		"an empty object":             {" {} ", "{}"},
		"64 levels":                   {`{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "}", `{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "}"},
		"names that differ in case":   {`{"a":1,"A":2}`, `{"a":1,"A":2}`},
		"the same name at two levels": {`{"a":{"a":1},"b":[{"a":1},{"a":1}]}`, `{"a":{"a":1},"b":[{"a":1},{"a":1}]}`},
		"a pair of surrogates":        {`{"a":"\ud83d\ude00"}`, `{"a":"\ud83d\ude00"}`},
		"numbers that no double is":   {`{"a":1e-400,"b":-0.0,"c":12345678901234567890}`, `{"a":1e-400,"b":-0.0,"c":12345678901234567890}`},
		"the greatest double":         {`{"a":1.7976931348623157e308}`, `{"a":1.7976931348623157e308}`},
		"white space everywhere":      {"\n{ \"a b\" : [ 1 , \"x \\\" y\" , true ] ,\t\"\\\\\" : null\r\n}\n", `{"a b":[1,"x \" y",true],"\\":null}`},
		"an empty name":               {`{"":0}`, `{"":0}`},
		"U+FFFD itself":               {"{\"a\":\"\uFFFD\"}", "{\"a\":\"\uFFFD\"}"},
	} {
		t.Run(claim, func(t *testing.T) {
			o, err := jsonread.Parse([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Text(); got != c.want {
				t.Errorf("the text is %s, not %s", got, c.want)
			}
		})
	}
}

func TestParseKeepsNothingOfTheCallersMemory(t *testing.T) {
	body := []byte(`{"name":"first"}`)
	o, err := jsonread.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	copy(body, `{"eman":"other"}`)
	if got := o.Text(); got != `{"name":"first"}` {
		t.Errorf("the text became %s", got)
	}
}
