package node

import (
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// CustomID identifies a custom node: "cn_" and 26 base32 characters.
type CustomID string

// CustomIDPrefix is what a [CustomID] begins with, without the underscore.
const CustomIDPrefix = "cn"

// maxEndpoint bounds the address of a custom node, in characters.
const maxEndpoint = 2048

// MaxCustomNodeBytes is how many bytes the schemas and translations of all custom nodes of a tenant
// may take together, as JSON.
const MaxCustomNodeBytes = 2 << 20

// MaxCustomNodeWeight is what all custom nodes of a tenant may weigh together: see
// [Custom.Weight]. There is room for about 13,000 fields, each with a description.
const MaxCustomNodeWeight = 32 << 20

// CheckCustomNodes returns the Conflict storage_exceeded when the custom nodes of a tenant
// exceed [MaxCustomNodeBytes] or [MaxCustomNodeWeight] together.
func CheckCustomNodes(bytes, weight int64) error {
	switch {
	case bytes > MaxCustomNodeBytes:
		return domain.Fail(domain.Conflict, "storage_exceeded",
			"The custom nodes of this tenant may take at most %d bytes together. Delete some, or describe fewer fields.", MaxCustomNodeBytes)
	case weight > MaxCustomNodeWeight:
		return domain.Fail(domain.Conflict, "storage_exceeded",
			"The custom nodes of this tenant describe too many fields and values. Delete some, or describe fewer.")
	}
	return nil
}

// Translation is what people who read one language see of a custom node. An empty
// member falls back to the node's own.
type Translation struct {
	Name        string // at most 255 characters
	Description string // at most 1000 characters
}

// Custom is a node type that a tenant defines. Its type never changes, and its schemas
// change only with its version: see [Custom.Revise]. Build one with [NewCustom] or
// [RestoreCustom].
type Custom struct {
	state   CustomState
	schemas func() schemas // parsed when first needed
}

type schemas struct{ input, output, config Schema }

// CustomState is everything a store keeps of a custom node. The schemas are kept
// as declared; their JSON form is that of the API.
type CustomState struct {
	ID           CustomID
	Tenant       tenant.ID
	Type         Type
	Name         string
	Description  string // empty when there is none
	Version      string
	InputSchema  Declarations
	OutputSchema Declarations
	ConfigSchema Declarations
	Endpoint     string // empty when the tenant's own endpoint is to be called
	CanPause     bool
	IsActive     bool
	Metadata     domain.Metadata
	Translations map[tenant.Language]Translation
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Revision     int64 // 1 at first; a store raises it with every update and refuses a stale one
}

// CustomDraft is what a client says of a new custom node.
type CustomDraft struct {
	Type         string
	Name         string // 1 to 255 characters
	Description  string // at most 1000 characters; empty for none
	Version      string // semantic version
	InputSchema  Declarations
	OutputSchema Declarations
	ConfigSchema Declarations
	Endpoint     string // absolute http or https URL of at most 2048 characters; empty for none
	CanPause     bool
	IsActive     *bool // nil means true
	Metadata     domain.MetadataPatch
	Translations map[tenant.Language]Translation
	Malformed    []domain.Violation // what was found while the request was read; reported with the rest
}

// NewCustom makes a custom node of the tenant. Its type must be spelled as one and
// must not be that of a built-in node or a trigger node. Every violation is
// reported at once, with the code custom_node_invalid.
func NewCustom(id CustomID, owner tenant.ID, d CustomDraft, now time.Time) (*Custom, error) {
	var r domain.Rules
	r.Add(d.Malformed...)
	checkType(&r, d.Type)
	r.Text(d.Name, "name", 1, maxName)
	r.Text(d.Description, "description", 0, maxDescription)
	checkVersion(&r, d.Version)
	parsed := schemas{
		input:  ParseSchema(&r, "inputSchema", d.InputSchema),
		output: ParseSchema(&r, "outputSchema", d.OutputSchema),
		config: ParseSchema(&r, "configSchema", d.ConfigSchema),
	}
	checkEndpoint(&r, d.Endpoint)
	checkTranslations(&r, d.Translations)
	metadata := domain.Metadata{}.Revised(&r, d.Metadata)
	if err := r.Err("custom_node_invalid", "The custom node is not valid."); err != nil {
		return nil, err
	}
	state := CustomState{
		ID: id, Tenant: owner, Type: Type(d.Type), Name: d.Name, Description: d.Description, Version: d.Version,
		InputSchema: d.InputSchema, OutputSchema: d.OutputSchema, ConfigSchema: d.ConfigSchema,
		Endpoint: d.Endpoint, CanPause: d.CanPause, IsActive: d.IsActive == nil || *d.IsActive,
		Metadata: metadata, Translations: d.Translations, CreatedAt: now, UpdatedAt: now, Revision: 1,
	}
	return &Custom{state: state.clone(), schemas: func() schemas { return parsed }}, nil
}

// RestoreCustom rebuilds a custom node from what a store kept, without applying
// any rule. The state is the node's from then on: the caller changes nothing in it.
func RestoreCustom(s CustomState) *Custom {
	c := &Custom{state: s}
	c.schemas = sync.OnceValue(c.state.parse)
	return c
}

// Facts are what the audit log says of it.
func (c *Custom) Facts() domain.Facts { return domain.FactsOf(c.state) }

// State returns what a store has to keep.
func (c *Custom) State() CustomState { return c.state.clone() }

// ID identifies the custom node.
func (c *Custom) ID() CustomID { return c.state.ID }

// Tenant owns the custom node.
func (c *Custom) Tenant() tenant.ID { return c.state.Tenant }

// Type is what workflows call the node.
func (c *Custom) Type() Type { return c.state.Type }

// Version is the version that the schemas belong to.
func (c *Custom) Version() SemVer { return restoreSemVer(c.state.Version) }

// Endpoint is the URL that runs the node; empty when the tenant's own is to be called.
func (c *Custom) Endpoint() string { return c.state.Endpoint }

// Metadata is what the tenant keeps with the custom node.
func (c *Custom) Metadata() domain.Metadata { return c.state.Metadata }

// IsActive says whether the registry lists the node.
func (c *Custom) IsActive() bool { return c.state.IsActive }

// schemaParts is how many times a schema is there: as it is declared, and as it is applied.
const schemaParts = 2

// Weight is about how many bytes of memory the custom node takes.
func (c *Custom) Weight() int64 {
	var w domain.JSONWeight
	for _, d := range []Declarations{c.state.InputSchema, c.state.OutputSchema, c.state.ConfigSchema} {
		text, err := json.Marshal(d)
		if err == nil { // a declaration can always be written
			w.Add(domain.WeighJSON(text))
		}
	}
	return schemaParts * w.Tree()
}

// Revision counts the custom node's changes.
func (c *Custom) Revision() int64 { return c.state.Revision }

// NodeType returns the registry's entry for the node in the language. Its own
// name and description stand in for what is not translated.
func (c *Custom) NodeType(l tenant.Language) NodeType {
	s := c.schemas()
	n := NodeType{
		Type: c.state.Type, Name: c.state.Name, Description: c.state.Description, Version: c.Version(),
		Input: s.input, Output: s.output, Config: s.config, Capabilities: Capabilities{CanPause: c.state.CanPause, HasEffect: true},
	}
	t := c.state.Translations[l]
	if t.Name != "" {
		n.Name = t.Name
	}
	if t.Description != "" {
		n.Description = t.Description
	}
	return n
}

func (s CustomState) clone() CustomState {
	s.InputSchema, s.OutputSchema, s.ConfigSchema = s.InputSchema.Clone(), s.OutputSchema.Clone(), s.ConfigSchema.Clone()
	s.Translations = maps.Clone(s.Translations)
	return s
}

func (s CustomState) parse() schemas {
	return schemas{
		input:  restoreSchema(s.InputSchema),
		output: restoreSchema(s.OutputSchema),
		config: restoreSchema(s.ConfigSchema),
	}
}

// Saved notes that a store kept the changes, which raises the revision by one.
func (c *Custom) Saved() { c.state.Revision++ }
