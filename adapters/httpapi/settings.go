package httpapi

import (
	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// settingsBody is a tenant's settings as clients see them.
type settingsBody struct {
	Language              string           `json:"language"`
	DisabledNodeTypes     []string         `json:"disabledNodeTypes"`
	PublicTriggerCreation string           `json:"publicTriggerCreation"`
	TriggersOnPublish     string           `json:"triggersOnPublish"`
	Events                []eventBody      `json:"events"`
	CustomNodeEndpoint    string           `json:"customNodeEndpoint,omitempty"`
	Embed                 embedBody        `json:"embed"`
	Limits                exchange.Limits  `json:"limits"`
	Budgets               exchange.Budgets `json:"budgets"`
}

type eventBody struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"`
}

// embedBody says where the editor may be shown. The id is in the address of the frame, and so no secret: it is the tenant's.
type embedBody struct {
	ID      string   `json:"id"`
	Origins []string `json:"origins"`
}

// rendered returns what shows settings of the caller's tenant.
func rendered(who tenant.Caller) func(tenant.Settings) any {
	return func(s tenant.Settings) any { return renderSettings(s, who.Tenant()) }
}

func renderSettings(s tenant.Settings, id tenant.ID) any {
	body := settingsBody{
		Language: string(s.Language), DisabledNodeTypes: append([]string{}, s.DisabledNodeTypes...),
		PublicTriggerCreation: string(s.PublicTriggers()), TriggersOnPublish: string(s.OnPublish()), Events: []eventBody{}, CustomNodeEndpoint: s.CustomNodeEndpoint,
		Embed:  embedBody{ID: string(id), Origins: append([]string{}, s.EmbedOrigins...)},
		Limits: exchange.LimitsOf(s), Budgets: exchange.BudgetsOf(s.EffectiveBudgets()),
	}
	for _, e := range s.Events {
		body.Events = append(body.Events, eventBody(e))
	}
	return body
}

// getSettings answers GET /settings.
func (a *API) getSettings(c *gin.Context, who tenant.Caller) error {
	s, err := a.ports.Settings.Get(c.Request.Context(), who)
	return exchange.Answer(c, s, err, rendered(who))
}

// updateSettings answers PATCH /settings.
func (a *API) updateSettings(c *gin.Context, who tenant.Caller) error {
	patch, err := exchange.ReadResource[settingsBody](c, settingsPatch)
	if err != nil {
		return err
	}
	s, err := a.ports.Settings.Update(c.Request.Context(), who, patch)
	return exchange.Answer(c, s, err, rendered(who))
}

func settingsPatch(body jsonread.Object) tenant.SettingsPatch {
	var r domain.Rules
	var p tenant.SettingsPatch
	p.Language = (*tenant.Language)(body.OptionalString("language", &r))
	p.PublicTriggerCreation = (*tenant.PublicTriggerCreation)(body.OptionalString("publicTriggerCreation", &r))
	p.TriggersOnPublish = (*tenant.TriggersOnPublish)(body.OptionalString("triggersOnPublish", &r))
	if list, present := body.OptionalArray("disabledNodeTypes", &r); present {
		types := []string{}
		if fits(list, "disabledNodeTypes", tenant.MaxDisabled, &r) {
			types = list.Strings(&r)
		}
		p.DisabledNodeTypes = &types
	}
	if list, present := body.OptionalArray("events", &r); present {
		events := []tenant.Event{}
		if !fits(list, "events", tenant.MaxEvents, &r) {
			list = jsonread.Array{}
		}
		for _, o := range list.Objects(&r) {
			var e tenant.Event
			e.Name, _ = o.String("name", &r)
			if label := o.OptionalString("label", &r); label != nil {
				e.Label = *label
			}
			events = append(events, e)
		}
		p.Events = &events
	}
	p.CustomNodeEndpoint = changedText(body, "customNodeEndpoint", &r)
	if embed, present := body.OptionalObject("embed", &r); present {
		if list, given := embed.OptionalArray("origins", &r); given {
			origins := []string{}
			if fits(list, "embed.origins", tenant.MaxEmbedOrigins, &r) {
				origins = list.Strings(&r)
			}
			p.EmbedOrigins = &origins
		}
	}
	p.Malformed = r.Violations()
	return p
}
