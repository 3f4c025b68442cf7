package httpapi

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/template"
	"github.com/sluicehq/sluice/domain/tenant"
)

// templatesBody is the answer of the list of templates, which has all of them.
type templatesBody struct {
	Templates []templateBody `json:"templates"`
	Total     int            `json:"total"`
}

// templateBody is a template as clients see it. The list leaves its workflows out.
type templateBody struct {
	ID          string               `json:"id"`
	Name        string               `json:"name"`
	Description string               `json:"description"`
	Connections []templateConnection `json:"connections"`
	Addresses   []templateAddress    `json:"addresses"`
	Sample      json.RawMessage      `json:"sample"`
	Workflows   []json.RawMessage    `json:"workflows,omitempty"`
}

type templateConnection struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Description string `json:"description"`
}

type templateAddress struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

func renderTemplate(t template.Template) templateBody {
	body := templateBody{
		ID: string(t.ID), Name: t.Name, Description: t.Description, Connections: []templateConnection{}, Addresses: []templateAddress{}, Sample: json.RawMessage(t.Sample.String()),
	}
	for _, c := range t.Connections {
		body.Connections = append(body.Connections, templateConnection{c.Name, string(c.Kind), c.Description})
	}
	for _, a := range t.Addresses {
		body.Addresses = append(body.Addresses, templateAddress(a))
	}
	return body
}

func renderWholeTemplate(t template.Template) any {
	body := renderTemplate(t)
	for _, w := range t.Workflows {
		body.Workflows = append(body.Workflows, json.RawMessage(w.String()))
	}
	return body
}

func renderTemplates(all []template.Template) any {
	body := templatesBody{Templates: []templateBody{}, Total: len(all)}
	for _, t := range all {
		body.Templates = append(body.Templates, renderTemplate(t))
	}
	return body
}

// listTemplates answers GET /templates.
func (a *API) listTemplates(c *gin.Context, who tenant.Caller) error {
	all, err := a.ports.Templates.List(c.Request.Context(), who)
	return exchange.Answer(c, all, err, renderTemplates)
}

// getTemplate answers GET /templates/{id}.
func (a *API) getTemplate(c *gin.Context, who tenant.Caller) error {
	one, err := a.ports.Templates.Get(c.Request.Context(), who, template.ID(c.Param("id")))
	return exchange.Answer(c, one, err, renderWholeTemplate)
}
