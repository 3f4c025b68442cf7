package contract

import "github.com/getkin/kin-openapi/openapi3"

// each calls look once for every schema of the document.
func each(doc *openapi3.T, look func(*openapi3.Schema)) {
	w := walk{seen: map[*openapi3.Schema]struct{}{}, look: look}
	for _, schema := range doc.Components.Schemas {
		w.ref(schema)
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, parameter := range op.Parameters {
				w.ref(parameter.Value.Schema)
			}
			if op.RequestBody != nil {
				w.content(op.RequestBody.Value.Content)
			}
			for _, answer := range op.Responses.Map() {
				w.content(answer.Value.Content)
			}
		}
	}
}

type walk struct {
	seen map[*openapi3.Schema]struct{}
	look func(*openapi3.Schema)
}

func (w walk) content(content openapi3.Content) {
	for _, media := range content {
		w.ref(media.Schema)
	}
}

func (w walk) ref(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	s := ref.Value
	if _, again := w.seen[s]; again {
		return
	}
	w.seen[s] = struct{}{}
	w.look(s)
	w.ref(s.Items)
	w.ref(s.AdditionalProperties.Schema)
	w.ref(s.Not)
	for _, property := range s.Properties {
		w.ref(property)
	}
	for _, refs := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf, s.OneOf} {
		for _, part := range refs {
			w.ref(part)
		}
	}
}

// permitNull lets a schema without a type take null, as OpenAPI 3.0.3 has it and
// kin-openapi has not.
func permitNull(s *openapi3.Schema) {
	if s.Type == nil && len(s.Enum)+len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.Not == nil {
		s.Nullable = true
	}
}

// forbidUndocumented closes an object whose members are listed, unless the document
// itself says that there may be others.
func forbidUndocumented(s *openapi3.Schema) {
	if len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
		closed := false
		s.AdditionalProperties.Has = &closed
	}
}

// permitForms has nothing said of the members that a form may leave blank, or fill in with text,
// which the document lists and clients that are generated from it do not do.
func permitForms(s *openapi3.Schema) {
	names, _ := s.Extensions["x-form-members"].([]any)
	for _, name := range names {
		if name, isText := name.(string); isText {
			s.Properties[name] = openapi3.NewSchemaRef("", openapi3.NewSchema().WithNullable())
		}
	}
}
