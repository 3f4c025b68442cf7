package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type tenants struct{ *unit }

var _ outbound.TenantRepository = tenants{}

const tenantColumns = `id, name, status, settings, metadata, created_at, updated_at, revision, budget_runs, budget_live, budget_bytes`

type tenantRow struct {
	ID        string    `db:"id"`
	Name      string    `db:"name"`
	Status    string    `db:"status"`
	Settings  string    `db:"settings"`
	Metadata  string    `db:"metadata"`
	CreatedAt time.Time `db:"created_at"`
	UpdatedAt time.Time `db:"updated_at"`
	Revision  int64     `db:"revision"`
	budgetsRow
}

// budgetColumns are those of a tenant's budgets, of a table of tenants named b.
const budgetColumns = `b.budget_runs, b.budget_live, b.budget_bytes`

type budgetsRow struct {
	Runs  int64 `db:"budget_runs"`
	Live  int64 `db:"budget_live"`
	Bytes int64 `db:"budget_bytes"`
}

func (row *budgetsRow) targets() []any { return []any{&row.Runs, &row.Live, &row.Bytes} }

func (row budgetsRow) budgets() tenant.Budgets {
	return tenant.Budgets{RunsPerMonth: row.Runs, LiveRuns: row.Live, BytesKept: row.Bytes}
}

// restore rebuilds a tenant, with what the store has for those without days or a budget of their own.
func (row tenantRow) restore(s *Store) (*tenant.Tenant, error) {
	settings, err := decodeSettings(row.Settings)
	settings.Budgets, settings.DefaultRunDays, settings.DefaultBytesKept = row.budgets(), s.RunDays, s.BytesKept
	if err != nil {
		return nil, fmt.Errorf("tenant %s: settings: %w", row.ID, err)
	}
	return tenant.Restore(tenant.State{
		ID: tenant.ID(row.ID), Name: row.Name, Status: tenant.Status(row.Status), Settings: settings,
		Metadata: domain.RestoreMetadata(row.Metadata), CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Revision: row.Revision,
	}), nil
}

// Insert adds a tenant.
func (s tenants) Insert(ctx context.Context, ten *tenant.Tenant) error {
	st := ten.State()
	settings, err := encodeSettings(st.Settings)
	if err != nil {
		return s.Fail(err)
	}
	_, err = s.Exec(ctx, "insert tenant", `INSERT INTO tenants (`+tenantColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		string(st.ID), st.Name, string(st.Status), settings, st.Metadata.String(), st.CreatedAt, st.UpdatedAt, st.Revision,
		st.Settings.Budgets.RunsPerMonth, st.Settings.Budgets.LiveRuns, st.Settings.Budgets.BytesKept)
	return err
}

const tenantNotFound, tenantNotFoundMessage = "tenant_not_found", "There is no such tenant."

// Get reads a tenant.
func (s tenants) Get(ctx context.Context, id tenant.ID) (*tenant.Tenant, error) {
	var row tenantRow
	err := s.ReadRow(ctx, "get tenant", &row, `SELECT `+tenantColumns+` FROM tenants WHERE id = $1`+s.ForUpdate(), string(id))
	if err != nil {
		return nil, core.NotFound(err, tenantNotFound, tenantNotFoundMessage)
	}
	return row.restore(s.store)
}

// Update writes a tenant whose stored revision is the aggregate's.
func (s tenants) Update(ctx context.Context, ten *tenant.Tenant) error {
	st := ten.State()
	settings, err := encodeSettings(st.Settings)
	if err != nil {
		return s.Fail(err)
	}
	s.NoteChange(st.ID)
	n, err := s.Exec(ctx, "update tenant", `UPDATE tenants
		SET name = $1, status = $2, settings = $3, updated_at = $4, metadata = $5, revision = revision + 1, budget_runs = $8, budget_live = $9, budget_bytes = $10
		WHERE id = $6 AND revision = $7`,
		st.Name, string(st.Status), settings, st.UpdatedAt, st.Metadata.String(), string(st.ID), st.Revision,
		st.Settings.Budgets.RunsPerMonth, st.Settings.Budgets.LiveRuns, st.Settings.Budgets.BytesKept)
	return s.CheckUpdated(n, err, ten.Saved, func() error {
		_, err := s.Get(ctx, st.ID)
		return err
	})
}

// Delete removes a tenant; the schema's cascades remove what it owns.
func (s tenants) Delete(ctx context.Context, id tenant.ID) error {
	s.NoteChange(id)
	if s.store.AllowSlowStatements != nil {
		defer s.store.AllowSlowStatements()()
	}
	// First what workers lock first, or the two would wait for each other.
	if _, err := s.Exec(ctx, "delete live runs", `DELETE FROM live_runs WHERE tenant_id = $1`, string(id)); err != nil {
		return err
	}
	for _, table := range []string{"audit_heads", "audit_waiting", "audit_entries", "audit_heads"} { // as who seals locks them, who may have made the head meanwhile; no cascades: the operator's log belongs to no tenant
		if _, err := s.Exec(ctx, "delete audit log", `DELETE FROM `+table+` WHERE tenant_id = $1`, string(id)); err != nil {
			return err
		}
	}
	n, err := s.Exec(ctx, "delete tenant", `DELETE FROM tenants WHERE id = $1`, string(id))
	return s.CheckDeleted(n, err, tenantNotFound, tenantNotFoundMessage)
}

// settingsJSON is how a tenant's settings are kept.
type settingsJSON struct {
	Language       string               `json:"language"`
	Disabled       []string             `json:"disabledNodeTypes,omitempty"`
	PublicTriggers string               `json:"publicTriggerCreation,omitempty"`
	OnPublish      string               `json:"triggersOnPublish,omitempty"`
	Events         []eventJSON          `json:"events,omitempty"`
	NodeEndpoint   string               `json:"customNodeEndpoint,omitempty"`
	EmbedOrigins   []string             `json:"embedOrigins,omitempty"`
	Quotas         map[string]quotaJSON `json:"quotas,omitempty"`
	RunRetention   *int                 `json:"runRetentionDays,omitempty"`
}

type eventJSON struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"`
}

type quotaJSON struct {
	PerMinute  int `json:"perMinute"`
	Concurrent int `json:"concurrent"`
}

func encodeSettings(s tenant.Settings) (string, error) {
	kept := settingsJSON{
		Language: string(s.Language), Disabled: s.DisabledNodeTypes, PublicTriggers: string(s.PublicTriggerCreation), OnPublish: string(s.TriggersOnPublish),
		NodeEndpoint: s.CustomNodeEndpoint, EmbedOrigins: s.EmbedOrigins, RunRetention: s.RunRetentionDays,
	}
	for _, e := range s.Events {
		kept.Events = append(kept.Events, eventJSON(e))
	}
	for kt, q := range s.Quotas {
		if kept.Quotas == nil {
			kept.Quotas = make(map[string]quotaJSON, len(s.Quotas))
		}
		kept.Quotas[string(kt)] = quotaJSON(q)
	}
	text, err := json.Marshal(kept)
	return string(text), err
}

func decodeSettings(text string) (tenant.Settings, error) {
	var kept settingsJSON
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return tenant.Settings{}, err
	}
	s := tenant.Settings{
		Language: tenant.Language(kept.Language), DisabledNodeTypes: kept.Disabled,
		PublicTriggerCreation: tenant.PublicTriggerCreation(kept.PublicTriggers), TriggersOnPublish: tenant.TriggersOnPublish(kept.OnPublish), CustomNodeEndpoint: kept.NodeEndpoint,
		EmbedOrigins: kept.EmbedOrigins, RunRetentionDays: kept.RunRetention,
	}
	for _, e := range kept.Events {
		s.Events = append(s.Events, tenant.Event(e))
	}
	for kt, q := range kept.Quotas {
		if s.Quotas == nil {
			s.Quotas = make(map[tenant.KeyType]tenant.Quota, len(kept.Quotas))
		}
		s.Quotas[tenant.KeyType(kt)] = tenant.Quota(q)
	}
	return s, nil
}
