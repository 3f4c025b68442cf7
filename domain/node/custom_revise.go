package node

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// CustomPatch is what a client wants to change of a custom node; nil leaves a
// member as it is. An empty Description or Endpoint removes it.
type CustomPatch struct {
	Name         *string
	Description  *string
	Version      *string
	InputSchema  *Declarations
	OutputSchema *Declarations
	ConfigSchema *Declarations
	Endpoint     *string
	CanPause     *bool
	IsActive     *bool
	Metadata     domain.MetadataPatch
	Translations map[tenant.Language]Translation // nil leaves them, otherwise replaces all
	Malformed    []domain.Violation              // what was found while the request was read; reported with the rest
}

// Revise changes the custom node as a whole or not at all. The schemas and whether the node
// can pause belong to its version ("Node versions are immutable once created"): a patch that
// changes one of them must have a higher version. The version may also rise alone; it never
// falls. The order of a schema's fields does not matter. Every violation is reported at
// once, with the code custom_node_invalid.
func (c *Custom) Revise(p CustomPatch, now time.Time) error {
	next := c.state.clone()
	p.apply(&next)

	var r domain.Rules
	r.Add(p.Malformed...)
	r.Text(next.Name, "name", 1, maxName)
	r.Text(next.Description, "description", 0, maxDescription)
	checkVersion(&r, next.Version)
	c.checkSuccession(&r, next)
	parsed := c.reparse(&r, p)
	if p.Endpoint != nil {
		checkEndpoint(&r, next.Endpoint)
	}
	if p.Translations != nil {
		checkTranslations(&r, next.Translations)
	}
	next.Metadata = next.Metadata.Revised(&r, p.Metadata)
	if err := r.Err("custom_node_invalid", "The custom node is not valid."); err != nil {
		return err
	}
	next.UpdatedAt = now
	c.state, c.schemas = next.clone(), func() schemas { return parsed }
	return nil
}

// apply writes the patch over the state. A schema that is equal to the present
// one is left as it is: a version's schemas do not change at all.
func (p CustomPatch) apply(s *CustomState) {
	domain.Set(&s.Name, p.Name)
	domain.Set(&s.Description, p.Description)
	domain.Set(&s.Version, p.Version)
	domain.Set(&s.Endpoint, p.Endpoint)
	domain.Set(&s.CanPause, p.CanPause)
	domain.Set(&s.IsActive, p.IsActive)
	for _, schema := range []struct {
		now  *Declarations
		next *Declarations
	}{{&s.InputSchema, p.InputSchema}, {&s.OutputSchema, p.OutputSchema}, {&s.ConfigSchema, p.ConfigSchema}} {
		if schema.next != nil && !schema.now.Equal(*schema.next) {
			*schema.now = *schema.next
		}
	}
	if p.Translations != nil {
		s.Translations = p.Translations
	}
}

// checkSuccession compares the next version with the present one.
func (c *Custom) checkSuccession(r *domain.Rules, next CustomState) {
	version, err := ParseSemVer(next.Version)
	if err != nil {
		return // reported as malformed
	}
	present := c.Version()
	changed := next.CanPause != c.state.CanPause ||
		!next.InputSchema.Equal(c.state.InputSchema) ||
		!next.OutputSchema.Equal(c.state.OutputSchema) ||
		!next.ConfigSchema.Equal(c.state.ConfigSchema)
	follows := version.Compare(present) > 0
	r.Check(follows || !changed, "version", domain.Conflicting,
		"must be higher than %s, because inputSchema, outputSchema, configSchema or canPause changes", present)
	r.Check(follows || version == present, "version", domain.Conflicting,
		"must be %s or higher, not %s", present, version)
}

// reparse checks the schemas of the patch. One that is equal to the present one
// stays the present one.
func (c *Custom) reparse(r *domain.Rules, p CustomPatch) schemas {
	next := c.schemas()
	for _, schema := range []struct {
		path     string
		declared Declarations
		patch    *Declarations
		parsed   *Schema
	}{
		{"inputSchema", c.state.InputSchema, p.InputSchema, &next.input},
		{"outputSchema", c.state.OutputSchema, p.OutputSchema, &next.output},
		{"configSchema", c.state.ConfigSchema, p.ConfigSchema, &next.config},
	} {
		if schema.patch == nil {
			continue
		}
		parsed := ParseSchema(r, schema.path, *schema.patch)
		if !schema.declared.Equal(*schema.patch) {
			*schema.parsed = parsed
		}
	}
	return next
}
