package jsonread_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
)

func parse(t *testing.T, body string) jsonread.Object {
	t.Helper()
	o, err := jsonread.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// one is a getter of the member "a" with everything it answers.
type one func(o jsonread.Object, r *domain.Rules) []any

// plain makes pointers and objects comparable.
func plain[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
}

var (
	getString         one = func(o jsonread.Object, r *domain.Rules) []any { v, ok := o.String("a", r); return []any{v, ok} }
	getBool           one = func(o jsonread.Object, r *domain.Rules) []any { v, ok := o.Bool("a", r); return []any{v, ok} }
	getNumber         one = func(o jsonread.Object, r *domain.Rules) []any { v, ok := o.Number("a", r); return []any{v, ok} }
	getInt            one = func(o jsonread.Object, r *domain.Rules) []any { v, ok := o.Int("a", r); return []any{v, ok} }
	getOptionalObject one = func(o jsonread.Object, r *domain.Rules) []any {
		v, ok := o.OptionalObject("a", r)
		return []any{v.Text(), ok}
	}
	getOptionalArray one = func(o jsonread.Object, r *domain.Rules) []any {
		v, ok := o.OptionalArray("a", r)
		return []any{v.Len(), ok}
	}
	getOptionalString   one = func(o jsonread.Object, r *domain.Rules) []any { return []any{plain(o.OptionalString("a", r))} }
	getOptionalBool     one = func(o jsonread.Object, r *domain.Rules) []any { return []any{plain(o.OptionalBool("a", r))} }
	getOptionalInt      one = func(o jsonread.Object, r *domain.Rules) []any { return []any{plain(o.OptionalInt("a", r))} }
	getOptionalDocument one = func(o jsonread.Object, r *domain.Rules) []any {
		v := o.OptionalDocument("a", r)
		if v == nil {
			return []any{nil}
		}
		return []any{v.String()}
	}
	getNullableString one = func(o jsonread.Object, r *domain.Rules) []any {
		v, ok := o.NullableString("a", r)
		return []any{plain(v), ok}
	}
)

func TestGettersTakeAMemberAsOneType(t *testing.T) {
	wrong := func(message string) []domain.Violation {
		return []domain.Violation{{Field: "a", Code: domain.WrongType, Message: message}}
	}
	violation := func(code domain.ViolationCode, message string) []domain.Violation {
		return []domain.Violation{{Field: "a", Code: code, Message: message}}
	}
	for claim, c := range map[string]struct {
		body  string
		get   one
		want  []any
		found []domain.Violation
	}{
		"a string":                               {`{"a":"x\u00e9\n\ud83d\ude00\/"}`, getString, []any{"xé\n😀/", true}, nil},
		"a name that is spelled with an escape":  {`{"\u0061":"x"}`, getString, []any{"x", true}, nil},
		"a name in another case is another name": {`{"A":"x"}`, getString, []any{"", false}, nil},
		"an absent string is left to the domain": {`{}`, getString, []any{"", false}, nil},
		"a number is no string":                  {`{"a":1}`, getString, []any{"", false}, wrong("must be a string, not a number")},
		"null is no string":                      {`{"a":null}`, getString, []any{"", false}, wrong("must be a string, not null")},
		"an optional string":                     {`{"a":""}`, getOptionalString, []any{""}, nil},
		"an optional string that is absent":      {`{}`, getOptionalString, []any{nil}, nil},
		"an optional string that is null":        {`{"a":null}`, getOptionalString, []any{nil}, wrong("must be a string, not null")},
		"a nullable string that is null":         {`{"a":null}`, getNullableString, []any{nil, true}, nil},
		"a nullable string that is absent":       {`{}`, getNullableString, []any{nil, false}, nil},
		"a nullable string":                      {`{"a":"x"}`, getNullableString, []any{"x", true}, nil},
		"a nullable string that is an array":     {`{"a":[]}`, getNullableString, []any{nil, false}, wrong("must be a string, not an array")},
		"true":                                   {`{"a":true}`, getBool, []any{true, true}, nil},
		"false":                                  {`{"a":false}`, getBool, []any{false, true}, nil},
		"a string is no boolean":                 {`{"a":"true"}`, getBool, []any{false, false}, wrong("must be a boolean, not a string")},
		"an optional boolean":                    {`{"a":false}`, getOptionalBool, []any{false}, nil},
		"an optional boolean that is absent":     {`{}`, getOptionalBool, []any{nil}, nil},
		"a number":                               {`{"a":-1.5e3}`, getNumber, []any{-1500.0, true}, nil},
		"a number too near to zero for a double": {`{"a":1e-400}`, getNumber, []any{0.0, true}, nil},
		"a boolean is no number":                 {`{"a":true}`, getNumber, []any{0.0, false}, wrong("must be a number, not a boolean")},
		"a whole number":                         {`{"a":1000}`, getInt, []any{1000, true}, nil},
		"a whole number with an exponent":        {`{"a":1.5E+3}`, getInt, []any{1500, true}, nil},
		"a whole number with decimals":           {`{"a":-7.00}`, getInt, []any{-7, true}, nil},
		"minus zero":                             {`{"a":-0}`, getInt, []any{0, true}, nil},
		"zero with a huge exponent":              {`{"a":0e999999999999999999999}`, getInt, []any{0, true}, nil},
		"the greatest exact whole number":        {`{"a":9007199254740991}`, getInt, []any{9007199254740991, true}, nil},
		"one more than that":                     {`{"a":9007199254740992}`, getInt, []any{9007199254740992, false}, violation(domain.TooLarge, "must be at most 9007199254740991, not 9007199254740992")},
		"a whole number far too small":           {`{"a":-1e99}`, getInt, []any{0, false}, violation(domain.TooSmall, "must be at least -9007199254740991, not -1e99")},
		"a number with a fraction":               {`{"a":1.0000000000000000000000001}`, getInt, []any{0, false}, violation(domain.NotWhole, "must be a whole number, not 1.0000000000000000000000001")},
		"a fraction by its exponent":             {`{"a":15e-1}`, getInt, []any{0, false}, violation(domain.NotWhole, "must be a whole number, not 15e-1")},
		"a fraction with a huge exponent":        {`{"a":1e-999999999999999999999}`, getInt, []any{0, false}, violation(domain.NotWhole, "must be a whole number, not 1e-999999999999999999999")},
		"an optional whole number":               {`{"a":0}`, getOptionalInt, []any{0}, nil},
		"an object":                              {`{"a":{"b" : 1}}`, getOptionalObject, []any{`{"b":1}`, true}, nil},
		"null is no object":                      {`{"a":null}`, getOptionalObject, []any{"{}", false}, wrong("must be an object, not null")},
		"an optional object that is absent":      {`{}`, getOptionalObject, []any{"{}", false}, nil},
		"an array":                               {`{"a":[1,[2,3],{"b":4}]}`, getOptionalArray, []any{3, true}, nil},
		"an object is no array":                  {`{"a":{}}`, getOptionalArray, []any{0, false}, wrong("must be an array, not an object")},
		"an optional array that is absent":       {`{}`, getOptionalArray, []any{0, false}, nil},
		"a document keeps order and spelling":    {`{"a":{"z": 1.50, "b":"\u0041 \" x", "a":[ ]}}`, getOptionalDocument, []any{`{"z":1.50,"b":"\u0041 \" x","a":[]}`}, nil},
		"an array is no document":                {`{"a":[]}`, getOptionalDocument, []any{nil}, wrong("must be an object, not an array")},
		"an optional document that is absent":    {`{}`, getOptionalDocument, []any{nil}, nil},
	} {
		t.Run(claim, func(t *testing.T) {
			var r domain.Rules
			got := c.get(parse(t, c.body), &r)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.found, r.Violations()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestViolationsNameTheClientsPath(t *testing.T) {
	o := parse(t, `{"x":{},"nodes":[{"id":"a"},[],{"id":7,"config":{"retry policy":{"n":[0,"1"]}}}],"y":0}`)
	var r domain.Rules
	nodes, _ := o.OptionalArray("nodes", &r)
	all := nodes.Objects(&r)
	all[2].String("id", &r)
	config, _ := all[2].OptionalObject("config", &r)
	policy, _ := config.OptionalObject("retry policy", &r)
	numbers, _ := policy.OptionalArray("n", &r)
	numbers.Strings(&r)
	want := []domain.Violation{
		{Field: "nodes[1]", Code: domain.WrongType, Message: "must be an object, not an array"},
		{Field: "nodes[2].id", Code: domain.WrongType, Message: "must be a string, not a number"},
		{Field: "nodes[2].config.retry policy.n[0]", Code: domain.WrongType, Message: "must be a string, not a number"},
	}
	if diff := cmp.Diff(want, r.Violations()); diff != "" {
		t.Error(diff)
	}
	if got := policy.Path(); got != "nodes[2].config.retry policy" {
		t.Errorf("the path is %q", got)
	}
}

func TestElementsOfTheWrongTypeStopTheReadingAfterFifty(t *testing.T) {
	var r domain.Rules
	a, _ := parse(t, `{"a":[`+strings.Repeat("1,", 1000)+`1]}`).OptionalArray("a", &r)
	if got := a.Strings(&r); len(got) != 50 || len(r.Violations()) != 50 {
		t.Errorf("%d elements, %d violations", len(got), len(r.Violations()))
	}
}

func TestMembersAndElementsCanBeWalked(t *testing.T) {
	o := parse(t, `{"b":[true,null,1.50,"x"],"a\u0062":{"c":{}}}`)
	want := map[string]any{"b": []any{true, nil, json.Number("1.50"), "x"}, "ab": map[string]any{"c": map[string]any{}}}
	if diff := cmp.Diff(any(want), anyOf(o)); diff != "" {
		t.Error(diff)
	}
	var order []string
	for name, v := range o.All() {
		order = append(order, name+" at "+v.Path()+": "+v.Text())
	}
	if diff := cmp.Diff([]string{`b at b: [true,null,1.50,"x"]`, `ab at ab: {"c":{}}`}, order); diff != "" {
		t.Error(diff)
	}
	for range o.All() {
		break
	}
	if !o.Has("b") || o.Has("c") || o.IsNull("b") || o.IsNull("c") {
		t.Error("members are mistaken")
	}
}

func TestALargeBodyIsNotKeptAliveByItsStrings(t *testing.T) {
	o := parse(t, `{"a":"x","pad":"`+strings.Repeat("y", 1<<20)+`"}`)
	var r domain.Rules
	first, _ := o.String("a", &r)
	second, _ := o.String("a", &r)
	if first != "x" || unsafe.StringData(first) == unsafe.StringData(second) {
		t.Error("a short text lies within the memory of the body")
	}
}

func TestCanonicalIsEqualForEqualMeaningOnly(t *testing.T) {
	for claim, c := range map[string]struct {
		a, b  string
		equal bool
	}{
		"order and white space":       {`{"b":1,"a":[1, 2]}`, "{\"a\":[1,2],\n\"b\":1}", true},
		"escapes":                     {`{"a":"\u00e9\/\u0022\u001F"}`, `{"\u0061":"é/\"\u001f"}`, true},
		"spelling of numbers":         {`{"a":[100,1.50,-0,0.01,1E2]}`, `{"a":[1e2,15e-1,0.0,1e-2,100]}`, true},
		"nothing and {}":              {``, ` {} `, true},
		"order of elements":           {`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		"neighbours beyond a double":  {`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		"a sign":                      {`{"a":1}`, `{"a":-1}`, false},
		"a number and its text":       {`{"a":1}`, `{"a":"1"}`, false},
		"absent and null":             {`{}`, `{"a":null}`, false},
		"a member moved":              {`{"a":{"b":1},"c":{}}`, `{"a":{},"c":{"b":1}}`, false},
		"a quote that moves a border": {`{"a":"\",\"b\":\""}`, `{"a":"","b":""}`, false},
	} {
		t.Run(claim, func(t *testing.T) {
			a, b := string(parse(t, c.a).Canonical()), string(parse(t, c.b).Canonical())
			if (a == b) != c.equal {
				t.Errorf("%s and %s", a, b)
			}
		})
	}
	want := `{"":null,"a":{"b":[15e-1,true,"x\u000a\"\\"],"c":-1e3},"é":{}}`
	if got := string(parse(t, `{"é":{},"a":{"c":-1000,"b":[1.5,true,"x\n\"\\"]},"":null}`).Canonical()); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestWhatAFormLeavesBlankIsAbsent(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "absent", `""`: "absent", `{}`: "absent", `[ ]`: "absent",
		`"5"`: "5", `" +05 "`: "5", `"1e3"`: "1000", `5`: "5",
		`"five"`: "a must be a number, not a string", `"1e400"`: "a must be a number, not a string", `{"b": 1}`: "a must be a number, not an object",
		`"0.5"`: "a must be a whole number, not 0.5", `false`: "a must be a number, not a boolean",
	} {
		var r domain.Rules
		got := "absent"
		if n := parse(t, `{"a": `+text+`}`).OfForm().OptionalInt("a", &r); n != nil {
			got = strconv.Itoa(*n)
		} else if found := r.Violations(); len(found) > 0 {
			got = found[0].String()
		}
		if got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	var r domain.Rules
	within, _ := parse(t, `{"a": {"b": "0.5", "c": null}}`).OfForm().OptionalObject("a", &r)
	b, _ := within.Number("b", &r)
	if c, present := within.Number("c", &r); b != 0.5 || c != 0 || present || len(r.Violations()) > 0 {
		t.Errorf("within an object: %v, %v, %v", b, present, r.Violations())
	}
}
