package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type embedTokens struct{ *unit }

var _ outbound.EmbedTokenRepository = embedTokens{}

// narrowingJSON is what limits a key, as it is stored.
type narrowingJSON struct {
	SubTenant *tenant.SubTenantID `json:"subTenant,omitempty"`
	Rights    []tenant.Right      `json:"rights,omitempty"`
	Workflows []string            `json:"workflows,omitempty"`
	NodeTypes []string            `json:"nodeTypes,omitempty"`
	Subject   string              `json:"subject,omitempty"`
	Origins   []string            `json:"origins,omitempty"`
	Language  tenant.Language     `json:"language,omitempty"`
}

func encodeNarrowing(n tenant.Narrowing) (string, error) {
	text, err := json.Marshal(narrowingJSON(n))
	if err != nil {
		return "", fmt.Errorf("encode what limits a key: %w", err)
	}
	return string(text), nil
}

// decodeNarrowing reads what limits a key; an empty text limits nothing.
func decodeNarrowing(text string) (tenant.Narrowing, error) {
	if text == "" {
		return tenant.Narrowing{}, nil
	}
	var kept narrowingJSON
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return tenant.Narrowing{}, fmt.Errorf("what limits the key: %w", err)
	}
	return tenant.Narrowing(kept), nil
}

// fitting is the condition of a filter, with its arguments behind that of the tenant.
func fitting(owner tenant.ID, f tenant.EmbedTokenFilter) (condition string, args []any) {
	condition, args = `tenant_id = $1 AND type = 'embed'`, []any{string(owner)}
	if f.SubTenant != nil {
		args = append(args, string(*f.SubTenant))
		condition += fmt.Sprintf(` AND sub_tenant_id = $%d`, len(args))
	}
	if f.Subject != nil {
		args = append(args, *f.Subject)
		condition += fmt.Sprintf(` AND subject = $%d`, len(args))
	}
	return condition, args
}

// List reads a page of a tenant's embed tokens.
func (s embedTokens) List(ctx context.Context, owner tenant.ID, f tenant.EmbedTokenFilter, page domain.PageRequest) (domain.Page[*tenant.APIKey], error) {
	condition, args := fitting(owner, f)
	return apiKeys(s).list(ctx, narrowedKeys+condition, page, args...)
}

// RevokeAll revokes those that fit.
func (s embedTokens) RevokeAll(ctx context.Context, owner tenant.ID, f tenant.EmbedTokenFilter, at time.Time) (int, error) {
	s.NoteChange(owner)
	condition, args := fitting(owner, f)
	n, err := s.Exec(ctx, "revoke embed tokens", fmt.Sprintf(`UPDATE narrowed_keys SET revoked_at = $%[2]d, revision = revision + 1
		WHERE %[1]s AND revoked_at IS NULL AND expires_at > $%[2]d`, condition, len(args)+1), append(args, at)...)
	return int(n), err
}

// Sweep removes tokens that ended, revoked or not.
func (s embedTokens) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep embed tokens", `DELETE FROM narrowed_keys WHERE (tenant_id, id) IN (
		SELECT tenant_id, id FROM narrowed_keys WHERE type = 'embed' AND expires_at < $1 ORDER BY expires_at LIMIT $2)`, before, limit)
	return int(n), err
}
