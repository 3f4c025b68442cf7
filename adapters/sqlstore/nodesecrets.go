package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type nodeSecrets struct{ *unit }

var _ outbound.NodeSecretRepository = nodeSecrets{}

type nodeSecretRow struct {
	Tenant    string    `db:"tenant_id"`
	Secret    string    `db:"secret"`
	Retired   string    `db:"retired_secrets"`
	CreatedAt time.Time `db:"created_at"`
	Revision  int64     `db:"revision"`
}

func (s nodeSecrets) restore(ctx context.Context, row nodeSecretRow) (*tenant.NodeSecret, error) {
	secrets, err := s.OpenSecrets(ctx, row.Secret, row.Retired, nodeSecretOf(tenant.ID(row.Tenant)))
	if err != nil {
		return nil, fmt.Errorf("node secret of %s: %w", row.Tenant, err)
	}
	return tenant.RestoreNodeSecret(tenant.NodeSecretState{
		Tenant: tenant.ID(row.Tenant), Secrets: secrets, CreatedAt: row.CreatedAt.UTC(), Revision: row.Revision,
	}), nil
}

// nodeSecretOf is where a node secret is kept, of which a tenant has one.
func nodeSecretOf(owner tenant.ID) outbound.SecretField {
	return outbound.SecretField{Tenant: owner, Record: "node_secret"}
}

const nodeSecretNotFound, nodeSecretNotFoundMessage = "node_secret_not_found",
	"There is no node secret yet. The first custom node makes one, and so does POST /v1/gateway/custom-nodes/secret/rotate."

// Get reads the tenant's secret.
func (s nodeSecrets) Get(ctx context.Context, owner tenant.ID) (*tenant.NodeSecret, error) {
	var row nodeSecretRow
	err := s.ReadRow(ctx, "get node secret", &row, `SELECT tenant_id, secret, retired_secrets, created_at, revision
		FROM node_secrets WHERE tenant_id = $1`+s.ForUpdate(), string(owner))
	if err != nil {
		return nil, core.NotFound(err, nodeSecretNotFound, nodeSecretNotFoundMessage)
	}
	return s.restore(ctx, row)
}

var errSecretMade = errors.New("another unit made the first node secret of the tenant")

// Insert adds the tenant's first secret.
func (s nodeSecrets) Insert(ctx context.Context, n *tenant.NodeSecret) error {
	st := n.State()
	secret, retired, err := s.SealSecrets(ctx, st.Secrets, nodeSecretOf(st.Tenant))
	if err != nil {
		return s.Fail(err)
	}
	s.NoteChange(st.Tenant)
	made, err := s.Exec(ctx, "insert node secret", `INSERT INTO node_secrets (tenant_id, secret, retired_secrets, created_at, revision)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT (tenant_id) DO NOTHING`,
		string(st.Tenant), secret, retired, st.CreatedAt, st.Revision)
	if err == nil && made == 0 {
		return s.Fail(&core.Collision{Cause: errSecretMade})
	}
	return err
}

// Update writes a secret whose stored revision is the aggregate's.
func (s nodeSecrets) Update(ctx context.Context, n *tenant.NodeSecret) error {
	st := n.State()
	secret, retired, err := s.SealSecrets(ctx, st.Secrets, nodeSecretOf(st.Tenant))
	if err != nil {
		return s.Fail(err)
	}
	s.NoteChange(st.Tenant)
	changed, err := s.Exec(ctx, "update node secret", `UPDATE node_secrets
		SET secret = $1, retired_secrets = $2, created_at = $3, revision = revision + 1 WHERE tenant_id = $4 AND revision = $5`,
		secret, retired, st.CreatedAt, string(st.Tenant), st.Revision)
	return s.CheckUpdated(changed, err, n.Saved, func() error {
		_, err := s.Get(ctx, st.Tenant)
		return err
	})
}

// Discard removes a secret.
func (s nodeSecrets) Discard(ctx context.Context, owner tenant.ID) error {
	s.NoteChange(owner)
	_, err := s.Exec(ctx, "discard node secret", `DELETE FROM node_secrets WHERE tenant_id = $1`, string(owner))
	return err
}
