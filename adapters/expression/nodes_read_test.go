package expression

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
)

func TestTheNodesThatASourceReadsAreKnown(t *testing.T) {
	for source, want := range map[string]struct {
		ids []string
		all bool
	}{
		`input.a + nodesX`:                    {nil, false},
		`1`:                                   {nil, false},
		`nodes.order.total`:                   {[]string{"order"}, false},
		`nodes["order"].total`:                {[]string{"order"}, false},
		`nodes?.order?.total`:                 {[]string{"order"}, false},
		`nodes?.["order"]`:                    {[]string{"order"}, false},
		`(nodes).order`:                       {[]string{"order"}, false},
		`nodes[1]`:                            {[]string{"1"}, false},
		`nodes.b + nodes.a + nodes["b"]`:      {[]string{"a", "b"}, false},
		`[1].map(x => nodes.order.total + x)`: {[]string{"order"}, false},
		`[1].map((x, i, all = nodes.order) => all)`:       {[]string{"order"}, false},
		`(({total}) => total)(nodes.order)`:               {[]string{"order"}, false},
		`nodes.list.map(x => x.id)`:                       {[]string{"list"}, false},
		"`${nodes.order.id}`":                             {[]string{"order"}, false},
		`[{id: 1}].map(nodes => nodes.id)`:                {nil, false},
		`[{id: 1}].map(nodes => Object.keys(nodes))`:      {nil, false},
		`[1].map(nodes => nodes)[0] + nodes.order.total`:  {[]string{"order"}, false},
		`payload.nodes.order`:                             {nil, false},
		`{nodes: 1}`:                                      {nil, false},
		`nodes[input.id]`:                                 {nil, true},
		"nodes[`order`]":                                  {nil, true},
		`nodes["or" + "der"]`:                             {nil, true},
		`nodes`:                                           {nil, true},
		`{nodes}`:                                         {nil, true},
		`{...nodes}`:                                      {nil, true},
		`Object.keys(nodes)`:                              {nil, true},
		`Object.values(nodes).length + nodes.order.total`: {[]string{"order"}, true},
		`JSON.stringify(nodes)`:                           {nil, true},
		`"order" in nodes`:                                {nil, true},
		`nodes.hasOwnProperty("order")`:                   {nil, true},
		`(n => n.order)(nodes)`:                           {nil, true},
		`(({order}) => order)(nodes)`:                     {nil, true},
		`(({order} = nodes) => order)()`:                  {nil, true},
		`((nodes = input) => nodes)()`:                    {nil, false},
		`(nodes ?? {}).order`:                             {nil, true},
		`nodes ? nodes.order : 1`:                         {[]string{"order"}, true},
		`nodes === input`:                                 {nil, true},
	} {
		names := append([]string{"nodesX"}, roots...)
		p, err := Compiler{}.Compile(source, names...)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if ids, all := p.NodesRead(); !slices.Equal(ids, want.ids) || all != want.all {
			t.Errorf("%s reads %q, all %v, want %q, %v", source, ids, all, want.ids, want.all)
		}
	}
}

func TestTheNodesThatTemplatesReadAreThoseOfAllOfThem(t *testing.T) {
	tree := map[string]any{
		"url":  run.URLTemplate("https://example.com/{{ nodes.order.id }}?a={{ nodes.user.name }}"),
		"list": []any{"{{ nodes.cart }}", "plain", 1.0, "{{ nodes.order.id }} and {{ input.x }}"},
	}
	read := func() ([]string, bool) {
		p, err := Compiler{}.CompileTemplates(tree, roots...)
		if err != nil {
			t.Fatal(err)
		}
		return p.NodesRead()
	}
	if ids, all := read(); !slices.Equal(ids, []string{"cart", "order", "user"}) || all {
		t.Errorf("reads %q, all %v", ids, all)
	}
	tree["body"] = "{{ nodes[input.x] }}"
	if ids, all := read(); !slices.Equal(ids, []string{"cart", "order", "user"}) || !all {
		t.Errorf("with a computed name reads %q, all %v", ids, all)
	}
}

// TestOnlyTheNodesThatAreReadMatter evaluates sources with the outputs that they read and
// with all of them.
func TestOnlyTheNodesThatAreReadMatter(t *testing.T) {
	outputs := map[string]any{
		"a": map[string]any{"x": 1.0, "nodes": map[string]any{"b": 2.0}}, "b": []any{1.0, "two", nil}, "c": "text", "d": nil,
		"nodes": map[string]any{"a": 5.0}, "length": 7.0, "1": 8.0,
	}
	env := func(ids []string) run.Env {
		kept := map[string]any{}
		for _, id := range ids {
			if v, ok := outputs[id]; ok {
				kept[id] = v
			}
		}
		return run.Env{Values: map[string]any{"nodes": kept, "input": map[string]any{"k": "a", "list": []any{1.0, 2.0}}}}
	}
	known := 0
	rapid.Check(t, func(t *rapid.T) {
		source := nodesSource(t, 3)
		p, err := Compiler{}.Compile(source, "nodes", "input")
		if err != nil {
			t.Skip(source)
		}
		ids, all := p.NodesRead()
		if all {
			return
		}
		known++
		want, wantErr := p.Evaluate(run.Env{Values: map[string]any{"nodes": outputs, "input": env(nil).Values["input"]}})
		got, gotErr := p.Evaluate(env(ids))
		if diff := cmp.Diff(want, got); diff != "" || (wantErr == nil) != (gotErr == nil) || wantErr != nil && wantErr.Error() != gotErr.Error() {
			t.Fatalf("%s reads %q, and with those alone gives %v, %v instead of %v, %v", source, ids, got, gotErr, want, wantErr)
		}
	})
	if known == 0 {
		t.Error("no source was drawn whose nodes are known")
	}
}

// nodesSource draws an expression that reads nodes in one way or another.
func nodesSource(t *rapid.T, depth int) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{
			"nodes.a", "nodes.b", `nodes["c"]`, "nodes?.d", "nodes?.a?.x", "nodes.gone", "nodes.a.nodes.b", "nodes.nodes.a", "nodes.length", "nodes[1]", "nodes[input.k]", "nodes", "1", "input.list", `"a"`,
		}).Draw(t, "leaf")
	}
	form := rapid.SampledFrom([]string{
		"[E, E]", "({a: E, ...E})", "(E ?? E)", "(E === E ? E : E)", "(nodes => E)(E)", "(({a, nodes = E}) => [a, nodes, E])(E)", "input.list.map(x => E)", "input.list.map((nodes, i = E) => [nodes, E])",
		"(({nodes}, x = E) => E)({nodes: E})", "Object.keys(E ?? {})", "JSON.stringify(E)", "`${E}`", "(E in {a: 1})", "E?.a", `E?.["nodes"]`, "typeof E",
	}).Draw(t, "form")
	var b strings.Builder
	for i, part := range strings.Split(form, "E") {
		if i > 0 {
			b.WriteString(nodesSource(t, depth-1))
		}
		b.WriteString(part)
	}
	return b.String()
}
