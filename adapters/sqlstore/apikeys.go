package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type apiKeys struct{ *unit }

var _ outbound.APIKeyRepository = apiKeys{}

const apiKeyColumns = `id, tenant_id, type, name, hash, last_four, created_at, last_used_at, expires_at, revoked_at, successor_id, revision`

// wholeKeys and narrowedKeys are the two tables of keys, as one reads them.
const (
	wholeKeys    = `SELECT ` + apiKeyColumns + `, '' AS narrowing FROM api_keys WHERE `
	narrowedKeys = `SELECT ` + apiKeyColumns + `, narrowing FROM narrowed_keys WHERE `
)

type apiKeyRow struct {
	Total      int        `db:"total"` // of a list
	Narrowing  string     `db:"narrowing"`
	ID         string     `db:"id"`
	Tenant     string     `db:"tenant_id"`
	Type       string     `db:"type"`
	Name       string     `db:"name"`
	Hash       []byte     `db:"hash"`
	LastFour   string     `db:"last_four"`
	CreatedAt  time.Time  `db:"created_at"`
	LastUsedAt *time.Time `db:"last_used_at"`
	ExpiresAt  *time.Time `db:"expires_at"`
	RevokedAt  *time.Time `db:"revoked_at"`
	Successor  string     `db:"successor_id"`
	Revision   int64      `db:"revision"`
}

func (row apiKeyRow) restore() (*tenant.APIKey, error) {
	var hash tenant.KeyHash
	if copy(hash[:], row.Hash) != len(hash) {
		return nil, fmt.Errorf("API key %s: the stored hash has %d bytes", row.ID, len(row.Hash))
	}
	narrowing, err := decodeNarrowing(row.Narrowing)
	if err != nil {
		return nil, fmt.Errorf("API key %s: %w", row.ID, err)
	}
	return tenant.RestoreAPIKey(tenant.KeyState{
		ID: tenant.KeyID(row.ID), Tenant: tenant.ID(row.Tenant), Type: tenant.KeyType(row.Type), Name: row.Name,
		Hash: hash, LastFour: row.LastFour, CreatedAt: row.CreatedAt.UTC(), LastUsedAt: core.InUTC(row.LastUsedAt),
		ExpiresAt: core.InUTC(row.ExpiresAt), RevokedAt: core.InUTC(row.RevokedAt), Successor: tenant.KeyID(row.Successor), Narrowing: narrowing, Revision: row.Revision,
	}), nil
}

// Insert adds a key, to the table of its kind.
func (s apiKeys) Insert(ctx context.Context, k *tenant.APIKey) error {
	st := k.State()
	s.NoteChange(st.Tenant)
	args := []any{
		string(st.ID), string(st.Tenant), string(st.Type), st.Name, st.Hash[:], st.LastFour,
		st.CreatedAt, st.LastUsedAt, st.ExpiresAt, st.RevokedAt, string(st.Successor), st.Revision,
	}
	if !k.IsNarrowed() {
		_, err := s.Exec(ctx, "insert API key", `INSERT INTO api_keys (`+apiKeyColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`, args...)
		return err
	}
	narrowing, err := encodeNarrowing(st.Narrowing)
	if err != nil {
		return s.Fail(err)
	}
	_, err = s.Exec(ctx, "insert narrowed key", `INSERT INTO narrowed_keys (`+apiKeyColumns+`, sub_tenant_id, subject, narrowing)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		append(args, (*string)(st.Narrowing.SubTenant), st.Narrowing.Subject, narrowing)...)
	return err
}

// Get reads a key.
func (s apiKeys) Get(ctx context.Context, owner tenant.ID, id tenant.KeyID) (*tenant.APIKey, error) {
	var row apiKeyRow
	err := s.ReadRow(ctx, "get API key", &row, wholeKeys+`tenant_id = $1 AND id = $2`+s.ForUpdate(), string(owner), string(id))
	if errors.Is(err, sql.ErrNoRows) {
		err = s.ReadRow(ctx, "get narrowed key", &row, narrowedKeys+`tenant_id = $1 AND id = $2`+s.ForUpdate(), string(owner), string(id))
	}
	if err != nil {
		return nil, core.NotFound(err, "api_key_not_found", "There is no such API key.")
	}
	return row.restore()
}

// List reads a page of a tenant's keys.
func (s apiKeys) List(ctx context.Context, owner tenant.ID, page domain.PageRequest) (domain.Page[*tenant.APIKey], error) {
	return s.list(ctx, wholeKeys+`tenant_id = $1 UNION ALL `+narrowedKeys+`tenant_id = $1 AND type <> 'embed'`, page, string(owner))
}

// list reads a page of what a query finds, the newest first.
func (s apiKeys) list(ctx context.Context, query string, page domain.PageRequest, args ...any) (domain.Page[*tenant.APIKey], error) {
	found := domain.Page[*tenant.APIKey]{Limit: page.Limit(), Offset: page.Offset()}
	count := `SELECT count(*) FROM (` + query + `) AS counted`
	var rows []apiKeyRow
	err := s.ReadRows(ctx, "list API keys", &rows, fmt.Sprintf(`SELECT k.*, (%s) AS total FROM (%s) AS k
		ORDER BY created_at DESC, id DESC LIMIT $%d OFFSET $%d`, count, query, len(args)+1, len(args)+2), append(slices.Clip(args), page.Limit(), page.Offset())...)
	switch {
	case err != nil:
		return found, err
	case len(rows) > 0:
		found.Total = rows[0].Total
	case page.Offset() > 0: // past the end
		if err := s.ReadRow(ctx, "count API keys", &found.Total, count, args...); err != nil {
			return found, err
		}
	}
	for _, row := range rows {
		k, err := row.restore()
		if err != nil {
			return found, err
		}
		found.Items = append(found.Items, k)
	}
	return found, nil
}

// Update writes a key whose stored revision is the aggregate's. What it is limited to, its
// type, hash and last four characters never change.
func (s apiKeys) Update(ctx context.Context, k *tenant.APIKey) error {
	st := k.State()
	s.NoteChange(st.Tenant)
	table := "api_keys"
	if k.IsNarrowed() {
		table = "narrowed_keys"
	}
	n, err := s.Exec(ctx, "update API key", `UPDATE `+table+`
		SET name = $1, expires_at = $2, revoked_at = $3, successor_id = $4, revision = revision + 1
		WHERE tenant_id = $5 AND id = $6 AND revision = $7`,
		st.Name, st.ExpiresAt, st.RevokedAt, string(st.Successor), string(st.Tenant), string(st.ID), st.Revision)
	return s.CheckUpdated(n, err, k.Saved, func() error {
		_, err := s.Get(ctx, st.Tenant, st.ID)
		return err
	})
}

// CountUsable counts usable keys of the whole tenant and locks them against other units that count.
func (s apiKeys) CountUsable(ctx context.Context, owner tenant.ID, t tenant.KeyType, at time.Time) (int, error) {
	var ids []string
	err := s.ReadRows(ctx, "count usable API keys", &ids, `SELECT id FROM api_keys
		WHERE tenant_id = $1 AND type = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)
		ORDER BY id`+s.ForUpdate(), string(owner), string(t), at)
	return len(ids), err
}

type credentials struct{ *unit }

var _ outbound.CredentialRepository = credentials{}

// Find reads a key with its tenant.
func (s credentials) Find(ctx context.Context, hash tenant.KeyHash) (outbound.Credential, error) {
	var row struct {
		apiKeyRow
		TenantName      string    `db:"tenant_name"`
		TenantStatus    string    `db:"tenant_status"`
		TenantSettings  string    `db:"tenant_settings"`
		TenantCreatedAt time.Time `db:"tenant_created_at"`
		TenantUpdatedAt time.Time `db:"tenant_updated_at"`
		TenantRevision  int64     `db:"tenant_revision"`
		budgetsRow
	}
	err := s.ReadRow(ctx, "find API key", &row, `SELECT k.*, t.name AS tenant_name, t.status AS tenant_status, t.settings AS tenant_settings,
			t.created_at AS tenant_created_at, t.updated_at AS tenant_updated_at, t.revision AS tenant_revision, t.budget_runs, t.budget_live, t.budget_bytes
		FROM (`+wholeKeys+`hash = $1 UNION ALL `+narrowedKeys+`hash = $1) AS k JOIN tenants t ON t.id = k.tenant_id`, hash[:])
	if err != nil {
		return outbound.Credential{}, core.NotFound(err, "api_key_not_found", "There is no such API key.")
	}
	k, err := row.restore()
	if err != nil {
		return outbound.Credential{}, err
	}
	ten, err := tenantRow{
		ID: row.Tenant, Name: row.TenantName, Status: row.TenantStatus, Settings: row.TenantSettings,
		CreatedAt: row.TenantCreatedAt, UpdatedAt: row.TenantUpdatedAt, Revision: row.TenantRevision, budgetsRow: row.budgetsRow,
	}.restore(s.store)
	return outbound.Credential{Key: k, Tenant: ten}, err
}

// RecordUse records a use, once in a while.
func (s credentials) RecordUse(ctx context.Context, owner tenant.ID, id tenant.KeyID, at time.Time) error {
	for _, table := range []string{"api_keys", "narrowed_keys"} {
		n, err := s.Exec(ctx, "note use of API key", `UPDATE `+table+` SET last_used_at = $1
			WHERE tenant_id = $2 AND id = $3 AND (last_used_at IS NULL OR last_used_at <= $4)`,
			at, string(owner), string(id), at.Add(-tenant.UsedResolution))
		if err != nil || n > 0 {
			return err
		}
	}
	return nil
}
