package node_test

import (
	"fmt"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// A schema is read from JSON, or declared in Go, and then checks values.
func Example() {
	var r domain.Rules
	declared := node.ReadDeclarations(&r, "configSchema", []byte(`{
		"email":    {"type": "string", "required": true, "pattern": "^[^@]+@[^@]+$"},
		"attempts": {"type": "number", "integer": true, "min": 1, "max": 5, "default": 3}
	}`))
	schema := node.ParseSchema(&r, "configSchema", declared)
	if err := r.Err("schema_invalid", "The schema is not valid."); err != nil {
		fmt.Println(err)
		return
	}

	var found domain.Rules
	schema.Check(&found, "config", map[string]any{"email": "nobody", "attempts": 9.5})
	for _, v := range found.Violations() {
		fmt.Println(v)
	}
	fmt.Println(schema.ApplyDefaults(map[string]any{"email": "ana@example.com"}))
	// Output:
	// config.email must match the pattern ^[^@]+@[^@]+$
	// config.attempts must be at most 5, not 9.5
	// map[attempts:3 email:ana@example.com]
}

// Every mistake of a declaration is reported with its place.
func ExampleParseSchema() {
	var r domain.Rules
	node.ParseSchema(&r, "inputSchema", node.Declarations{
		{Name: "age", Declaration: node.Declaration{Type: node.Number, Min: new(18.0), Max: new(6.0)}},
		{Name: "name", Declaration: node.Declaration{Type: node.String, Integer: new(true)}},
	})
	for _, v := range r.Violations() {
		fmt.Println(v.Field, v.Code)
	}
	// Output:
	// inputSchema.age.max conflicting
	// inputSchema.name.integer not_allowed
}

// The registry holds what one tenant sees, in its language.
func ExampleRegistryFor() {
	registry := node.RegistryFor("tenant_01h455vb4pex5vsknk084sn02q", tenant.BrazilianPortuguese, []string{"input", "wait"}, nil)
	for _, n := range registry.Entries()[:3] {
		fmt.Println(n.Type, n.Version, n.Name)
	}
	// Output:
	// waitForEvent 1.0.0 Esperar evento
	// condition 1.0.0 Condição
	// switch 1.0.0 Seleção
}

// Fits says why the output of one node cannot be the input of another.
func ExampleFits() {
	var r domain.Rules
	text := node.ParseField(&r, "source", node.Declaration{Type: node.String})
	number := node.ParseField(&r, "target", node.Declaration{Type: node.Number})
	fmt.Println(node.Fits(text, number))
	// Output:
	// false gives a string where a number is wanted
}

// A condition and a switch name the branches that edges may start from.
func ExampleBranches() {
	config := map[string]any{"cases": []any{map[string]any{"value": "a"}, map[string]any{"value": "b"}}}
	fmt.Println(node.Branches(node.Switch, config))
	// Output:
	// [case-0 case-1 default]
}
