package sqlstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

type hooks struct{ *unit }

var _ outbound.HookRepository = hooks{}

// hookConfig is how a configuration is kept: what an upgrade adds to it is added here.
type hookConfig struct {
	Scheme     json.RawMessage `json:"scheme"`
	Secrets    []connection.ID `json:"secrets,omitempty"`
	Event      *string         `json:"event,omitempty"`
	Entity     *string         `json:"entityId,omitempty"`
	Dedupe     *string         `json:"dedupe,omitempty"`
	Filter     *string         `json:"filter,omitempty"`
	Split      *string         `json:"split,omitempty"`
	Ingest     bool            `json:"ingest,omitempty"`
	RawBody    bool            `json:"rawBody,omitempty"`
	Respond    json.RawMessage `json:"respond"`
	AllowFrom  []string        `json:"allowFrom,omitempty"`
	PerMinute  int             `json:"perMinute,omitempty"`
	Concurrent int             `json:"concurrent,omitempty"`
}

func encodeHookConfig(c hook.Config) (string, error) {
	text, err := json.Marshal(hookConfig{
		Scheme: json.RawMessage(c.Scheme.Document().String()), Secrets: c.Secrets, Event: c.Event, Entity: c.Entity, Dedupe: c.Dedupe, Filter: c.Filter, Split: c.Split,
		Ingest: c.Ingest, RawBody: c.RawBody, Respond: json.RawMessage(c.Respond.Document().String()), AllowFrom: c.AllowFrom.Texts(),
		PerMinute: c.Limits.PerMinute, Concurrent: c.Limits.Concurrent,
	})
	if err != nil {
		return "", fmt.Errorf("encode the configuration of a hook: %w", err)
	}
	return string(text), nil
}

func decodeHookConfig(text string) (c hook.Config, err error) {
	var kept hookConfig
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return c, err
	}
	var ignored domain.Rules // it was checked when it came
	return hook.Config{
		Scheme: hook.RestoreScheme(string(kept.Scheme)), Secrets: kept.Secrets, Event: kept.Event, Entity: kept.Entity, Dedupe: kept.Dedupe, Filter: kept.Filter, Split: kept.Split,
		Ingest: kept.Ingest, RawBody: kept.RawBody, Respond: hook.RestoreRespond(string(kept.Respond)), AllowFrom: hook.ParseRanges(&ignored, "", kept.AllowFrom),
		Limits: hook.Limits{PerMinute: kept.PerMinute, Concurrent: kept.Concurrent},
	}, nil
}

const hookColumns = `tenant_id, trigger_id, sub_tenant_id, config, is_active, token_hash, token_hint, retired_hash, retired_until, created_at, updated_at, revision`

type hookRow struct {
	Tenant       string     `db:"tenant_id"`
	Trigger      string     `db:"trigger_id"`
	SubTenant    string     `db:"sub_tenant_id"`
	Config       string     `db:"config"`
	Active       bool       `db:"is_active"`
	Token        string     `db:"token_hash"`
	Hint         string     `db:"token_hint"`
	Retired      *string    `db:"retired_hash"`
	RetiredUntil *time.Time `db:"retired_until"`
	CreatedAt    time.Time  `db:"created_at"`
	UpdatedAt    time.Time  `db:"updated_at"`
	Revision     int64      `db:"revision"`
}

func encodeTokenHash(hash hook.TokenHash) string {
	return base64.RawURLEncoding.EncodeToString(hash[:])
}

func decodeTokenHash(text string) (hash hook.TokenHash, err error) {
	bits, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(bits) != len(hash) {
		return hash, fmt.Errorf("the hash of an address has %d bytes", len(bits))
	}
	return hook.TokenHash(bits), nil
}

func (row hookRow) restore() (*hook.Hook, error) {
	config, err := decodeHookConfig(row.Config)
	if err != nil {
		return nil, fmt.Errorf("hook of trigger %s: %w", row.Trigger, err)
	}
	st := hook.State{
		Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant), Trigger: trigger.ID(row.Trigger), Config: config, Active: row.Active,
		Hint: row.Hint, CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Revision: row.Revision,
	}
	if st.Token, err = decodeTokenHash(row.Token); err != nil {
		return nil, fmt.Errorf("hook of trigger %s: %w", row.Trigger, err)
	}
	if row.Retired != nil && row.RetiredUntil != nil {
		retired, err := decodeTokenHash(*row.Retired)
		if err != nil {
			return nil, fmt.Errorf("hook of trigger %s: %w", row.Trigger, err)
		}
		st.Retired, st.RetiredUntil = &retired, row.RetiredUntil.UTC()
	}
	return hook.Restore(st), nil
}

// retiredColumns are those of the address before; null for none.
func retiredColumns(st hook.State) (hash *string, until *time.Time) {
	if st.Retired == nil {
		return nil, nil
	}
	text := encodeTokenHash(*st.Retired)
	return &text, &st.RetiredUntil
}

// Insert adds a hook with what counts its deliveries.
func (s hooks) Insert(ctx context.Context, h *hook.Hook) error {
	st := h.State()
	config, err := encodeHookConfig(st.Config)
	if err != nil {
		return s.Fail(err)
	}
	s.NoteChange(st.Tenant)
	retired, until := retiredColumns(st)
	_, err = s.Exec(ctx, "insert hook", `INSERT INTO hooks (`+hookColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		string(st.Tenant), string(st.Trigger), string(st.SubTenant), config, st.Active, encodeTokenHash(st.Token), st.Hint, retired, until, st.CreatedAt, st.UpdatedAt, st.Revision)
	if err != nil {
		return err
	}
	if _, err = s.Exec(ctx, "count deliveries of a hook", `INSERT INTO hook_usage (tenant_id, trigger_id, kept, bytes, refused) VALUES ($1, $2, 0, 0, 0)`, string(st.Tenant), string(st.Trigger)); err != nil {
		return err
	}
	return s.noteSecrets(ctx, st)
}

// noteSecrets notes which connections a hook uses.
func (s hooks) noteSecrets(ctx context.Context, st hook.State) error {
	for _, id := range st.Secrets {
		if _, err := s.Exec(ctx, "note secret of a hook", `INSERT INTO hook_secrets (tenant_id, connection_id, trigger_id) VALUES ($1, $2, $3)`,
			string(st.Tenant), string(id), string(st.Trigger)); err != nil {
			return err
		}
	}
	return nil
}

// ofTrigger is what holds within a narrow scope for the records of a table that belong to triggers.
func ofTrigger(table string) core.ScopeCondition {
	within := `EXISTS (SELECT 1 FROM triggers p WHERE p.tenant_id = ` + table + `.tenant_id AND p.id = ` + table + `.trigger_id AND `
	return core.ScopeCondition{SubTenant: within + `p.sub_tenant_id = %[1]s)`, Workflow: within + core.ByVersion("p", "workflow_version_id").Workflow + `)`}
}

const hookNotFound, hookNotFoundMessage = "hook_not_found", "The trigger has no hook. Make one by POST to its path /hook."

// Get reads the hook of a trigger.
func (s hooks) Get(ctx context.Context, scope tenant.Scope, of trigger.ID) (*hook.Hook, error) {
	in, args := core.Within(scope, ofTrigger("hooks"), string(of))
	var row hookRow
	err := s.ReadRow(ctx, "get hook", &row, `SELECT `+hookColumns+` FROM hooks WHERE tenant_id = $1 AND trigger_id = $2`+in+s.ForUpdate(), args...)
	if err != nil {
		return nil, core.NotFound(err, hookNotFound, hookNotFoundMessage)
	}
	return row.restore()
}

// Find reads the hook with an address.
func (s hooks) Find(ctx context.Context, hash hook.TokenHash) (*hook.Hook, error) {
	var row hookRow
	err := s.ReadRow(ctx, "find hook", &row, `SELECT `+hookColumns+` FROM hooks WHERE token_hash = $1 UNION ALL SELECT `+hookColumns+` FROM hooks WHERE retired_hash = $1 LIMIT 1`, encodeTokenHash(hash))
	if err != nil {
		return nil, core.NotFound(err, hookNotFound, "There is no such hook.")
	}
	return row.restore()
}

// Update writes a hook whose stored revision is the aggregate's.
func (s hooks) Update(ctx context.Context, h *hook.Hook) error {
	st := h.State()
	config, err := encodeHookConfig(st.Config)
	if err != nil {
		return s.Fail(err)
	}
	s.NoteChange(st.Tenant)
	retired, until := retiredColumns(st)
	n, err := s.Exec(ctx, "update hook", `UPDATE hooks SET config = $1, is_active = $2, token_hash = $3, token_hint = $4, retired_hash = $5, retired_until = $6, updated_at = $7,
			revision = revision + 1 WHERE tenant_id = $8 AND trigger_id = $9 AND revision = $10`,
		config, st.Active, encodeTokenHash(st.Token), st.Hint, retired, until, st.UpdatedAt, string(st.Tenant), string(st.Trigger), st.Revision)
	err = s.CheckUpdated(n, err, h.Saved, func() error {
		_, err := s.Get(ctx, tenant.All(st.Tenant), st.Trigger)
		return err
	})
	if err != nil {
		return err
	}
	if _, err = s.Exec(ctx, "forget secrets of a hook", `DELETE FROM hook_secrets WHERE tenant_id = $1 AND trigger_id = $2`, string(st.Tenant), string(st.Trigger)); err != nil {
		return err
	}
	return s.noteSecrets(ctx, st)
}

// Delete removes a hook, and what was received by it.
func (s hooks) Delete(ctx context.Context, scope tenant.Scope, of trigger.ID) error {
	s.NoteChange(scope.Tenant())
	in, args := core.Within(scope, ofTrigger("hooks"), string(of))
	n, err := s.ExecSlow(ctx, "delete hook", `DELETE FROM hooks WHERE tenant_id = $1 AND trigger_id = $2`+in, args...)
	return s.CheckDeleted(n, err, hookNotFound, hookNotFoundMessage)
}
