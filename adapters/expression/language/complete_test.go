package language

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

// completeRoots are what the tests complete over.
func completeRoots() []workflow.Root {
	order := typing.NewObject().
		Set("amount", typing.Of(typing.Number)).
		Set("status", typing.Union(typing.Value("open"), typing.Value("paid"))).
		Set("ship-to", typing.Of(typing.String)).
		Set("lines", typing.List(typing.NewObject().Set("sku", typing.Of(typing.String)).Set("tags", typing.List(typing.Of(typing.String))).Type())).Type()
	return []workflow.Root{{Name: "input", Type: order}, {Name: "payload"}}
}

// completeAt completes at the last | in a source, and applies an offer.
func completeAt(t *testing.T, source string) (found workflow.Offers, apply func(name string) string) {
	t.Helper()
	at := strings.LastIndex(source, "|")
	text := source[:at] + source[at+1:]
	found = Limits{}.Complete(text, 0, len(text), at, workflow.Source{Roots: completeRoots()})
	return found, func(name string) string {
		for _, o := range found.List {
			if o.Name == name {
				return text[:o.From] + o.Insert + text[found.To:]
			}
		}
		return "there is no " + name
	}
}

func namesOffered(found workflow.Offers, kinds ...workflow.OfferKind) []string {
	var all []string
	for _, o := range found.List {
		if slices.Contains(kinds, o.Kind) {
			all = append(all, o.Name)
		}
	}
	return all
}

func TestMembersAreOfferedWhateverStandsAround(t *testing.T) {
	order := []string{"amount", "status", "ship-to", "lines"}
	line := []string{"sku", "tags"}
	for source, want := range map[string][]string{
		"input.|":                                   order,
		"input.am|ount > 100":                       order,
		"input?.|":                                  order,
		"input.| > 100 && payload.ok":               order,
		"input.|; nonsense (":                       order,
		"1 + + foo bar, input.|":                    order,
		"if (x) { input.|":                          order,
		"payload.a ? input.|":                       order,
		"payload.a ? 1 : input.|":                   order,
		"Math.max(input.|":                          order,
		"Math.max(1, input.|, 2)":                   order,
		"{ a: input.|":                              order,
		"[...input.lines, input.|":                  order,
		"`total ${input.|":                          order,
		"`total ${input.|}`":                        order,
		"input[\"|\"]":                              order,
		"input['sh|":                                order,
		"\"unclosed + input.|":                      nil,
		"input.lines.map(x => x.|":                  line,
		"input.lines.map(x => x.|)":                 line,
		"input.lines.map(x => x.sku ? x.|":          line,
		"input.lines.map((x, i) => ({ a: x.|":       line,
		"input.lines.filter(x => x.sku && x.|).map": line,
		"class input.lines.map(x => x.|":            line,
		"input.lines[0].|":                          line,
		"input.lines.find(x => x.sku).|":            line,
		"(input || payload).|":                      order,
		"({ a: 1, b: 2 }).|":                        {"a", "b"},
		"input.amount.| // comment":                 nil,
	} {
		found, _ := completeAt(t, source)
		got := namesOffered(found, workflow.OfferMember)
		if i := slices.Index(got, "length"); i >= 0 {
			got = slices.Delete(got, i, i+1)
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("nil", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", source, diff)
		}
	}
}

func TestNamesAreOfferedWhereAValueIsDue(t *testing.T) {
	for source, want := range map[string]string{
		"|":                                    "input payload",
		"inp|":                                 "input payload",
		"input.amount > |":                     "input payload",
		"input.amount + p|":                    "input payload",
		"input.lines.map(line => |":            "line input payload",
		"input.lines.map(({ sku, tags }) => |": "sku tags input payload",
		"foo(|":                                "input payload",
		"{ a: |":                               "input payload",
		"input.amount |":                       "",
		"12|":                                  "",
		"'text|":                               "",
		"// |":                                 "",
		"/* |":                                 "",
		"`text |":                              "",
		"input |":                              "",
	} {
		found, _ := completeAt(t, source)
		if got := strings.Join(namesOffered(found, workflow.OfferParameter, workflow.OfferVariable), " "); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
		if functions := namesOffered(found, workflow.OfferFunction); (len(functions) > 0) != (want != "") {
			t.Errorf("%s: functions are %q", source, functions)
		}
	}
}

func TestAnOfferReplacesWhatStandsThere(t *testing.T) {
	for source, apply := range map[string][2]string{
		"input.am|o > 1":                {"amount", "input.amount > 1"},
		"input.|":                       {"ship-to", `input["ship-to"]`},
		"input?.sh|":                    {"ship-to", `input?.["ship-to"]`},
		`input["sh|"] === 1`:            {"ship-to", `input["ship-to"] === 1`},
		`input['sh|']`:                  {"ship-to", `input['ship-to']`},
		"in|put.amount":                 {"payload", "payload.amount"},
		"input.status === |":            {`"paid"`, `input.status === "paid"`},
		`input.status === "p|"`:         {`"paid"`, `input.status === "paid"`},
		`input.status === '|`:           {`"paid"`, `input.status === 'paid'`},
		`"|" !== input.status`:          {`"open"`, `"open" !== input.status`},
		`input.status === "p| && "x"`:   {`"open"`, `input.status === "open" && "x"`},
		"Math.r|":                       {"round", "Math.round"},
		"input.lines.fi|(x => x.sku)":   {"filter", "input.lines.filter(x => x.sku)"},
		"input.amount.to|":              {"toFixed", "input.amount.toFixed"},
		"Math.max(input.amount, Ma|, 1": {"Math", "Math.max(input.amount, Math, 1"},
	} {
		_, applied := completeAt(t, source)
		if got := applied(apply[0]); got != apply[1] {
			t.Errorf("%s with %s: got %s, want %s", source, apply[0], got, apply[1])
		}
	}
}

func TestTheExpressionWhoseMembersAreOfferedStandsForItself(t *testing.T) {
	for source, want := range map[string]string{
		"input.|":                                    "input",
		"1 + input.lines[0].|":                       "input.lines[0]",
		"(payload.a || input).|":                     "payload.a || input",
		"((payload.a || input).b).c.|":               "((payload.a || input).b).c",
		"input.lines.map(x => x.|":                   "(input.lines)[0]",
		"input.lines.map(x => x.tags.map(y => y.a.|": "((input.lines)[0].tags)[0].a",
		"input.lines.map((x, i) => input.lines[i].|": "",
		"input.lines.filter(x => x.a).at(0).|":       "input.lines.filter(x => x.a).at(0)",
		"input.lines.reduce((sum, x) => sum + x.|":   "",
		"input.lines.map(({ sku }) => sku.|":         "",
		"payload.a.b?.|":                             "payload.a.b",
		"Math.|":                                     "",
		"inp|":                                       "",
	} {
		if found, _ := completeAt(t, source); found.Of != want {
			t.Errorf("%s: got %q, want %q", source, found.Of, want)
		}
	}
}

func TestEverythingBuiltInIsDescribed(t *testing.T) {
	known := []string{".length"}
	for name := range functions {
		known = append(known, name)
	}
	for name := range constants {
		known = append(known, name)
	}
	for name, space := range namespaces {
		if functions[name] == nil {
			known = append(known, name)
		}
		for _, member := range append(sortedNames(space.functions), sortedNames(space.constants)...) {
			known = append(known, name+"."+member)
		}
	}
	for name := range methods {
		known = append(known, "."+name)
	}
	slices.Sort(known)
	if diff := cmp.Diff(known, sortedNames(descriptions)); diff != "" {
		t.Errorf("what there is, and what is described: (-is +described)\n%s", diff)
	}
	for name, d := range descriptions {
		if d.about == "" || strings.Contains(d.about, "\n") || !strings.HasPrefix(d.signature, strings.TrimPrefix(name, ".")) {
			t.Errorf("%s is described as %q: %q", name, d.signature, d.about)
		}
	}
	for name, gives := range methodTypes {
		if want := ": " + gives.String(); !strings.HasSuffix(descriptions["."+name].signature, want) {
			t.Errorf("the signature of %s is %q, which should end in %q", name, descriptions["."+name].signature, want)
		}
	}
	for name, gives := range functionTypes {
		if want := ": " + gives.String(); !strings.HasSuffix(descriptions[name].signature, want) {
			t.Errorf("the signature of %s is %q, which should end in %q", name, descriptions[name].signature, want)
		}
	}
}

// FuzzComplete completes anywhere in anything.
func FuzzComplete(f *testing.F) {
	for _, source := range []string{"input.lines.map(x => x.sku", "`${input.", `input["`, "a ? b : (c", "/* ", "((((", "x => y => z => ", "{{ input.", "'\\", "1 < 2 < ", "\xff."} {
		f.Add(source, len(source))
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		if at < 0 || at > len(text) {
			return
		}
		found := Limits{}.Complete(text, 0, len(text), at, workflow.Source{Roots: completeRoots()})
		for _, o := range found.List {
			if o.From < 0 || o.From > at || found.To < at || found.To > len(text) || o.From > found.From {
				t.Fatalf("%q at %d: %v replaces %d to %d", text, at, o, o.From, found.To)
			}
		}
		if from, end, inside := (Limits{}).EmbeddedAt(text, at); inside && (from > at || end < at || end > len(text)) {
			t.Fatalf("%q at %d: stands in %d to %d", text, at, from, end)
		}
	})
}
