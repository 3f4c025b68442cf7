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
	Limits                exchange.Limits  `json:"limits"`
	Budgets               exchange.Budgets `json:"budgets"`
}

type eventBody struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"`
}

func renderSettings(s tenant.Settings) any {
	body := settingsBody{
		Language: string(s.Language), DisabledNodeTypes: append([]string{}, s.DisabledNodeTypes...),
		PublicTriggerCreation: string(s.PublicTriggers()), TriggersOnPublish: string(s.OnPublish()), Events: []eventBody{}, CustomNodeEndpoint: s.CustomNodeEndpoint,
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
	return exchange.Answer(c, s, err, renderSettings)
}

// updateSettings answers PATCH /settings.
func (a *API) updateSettings(c *gin.Context, who tenant.Caller) error {
	patch, err := exchange.ReadResource[settingsBody](c, settingsPatch)
	if err != nil {
		return err
	}
	s, err := a.ports.Settings.Update(c.Request.Context(), who, patch)
	return exchange.Answer(c, s, err, renderSettings)
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
	p.Malformed = r.Violations()
	return p
}
