package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type grants struct{ *unit }

var _ outbound.GrantRepository = grants{}

const grantColumns = `g.tenant_id, g.connection_id, g.client, g.tokens, g.scopes, g.issued_at, g.expires_at, g.renew_at,
	g.failure_code, g.failure_message, g.failed_at, g.retry_at, g.lease_ends, g.generation, g.revision`

type grantRow struct {
	Tenant         string       `db:"tenant_id"`
	Connection     string       `db:"connection_id"`
	Client         string       `db:"client"`
	Tokens         *string      `db:"tokens"`
	Scopes         string       `db:"scopes"`
	IssuedAt       *time.Time   `db:"issued_at"`
	ExpiresAt      *time.Time   `db:"expires_at"`
	RenewAt        *time.Time   `db:"renew_at"`
	FailureCode    string       `db:"failure_code"`
	FailureMessage string       `db:"failure_message"`
	FailedAt       *time.Time   `db:"failed_at"`
	RetryAt        *time.Time   `db:"retry_at"`
	LeaseEnds      *time.Time   `db:"lease_ends"`
	Generation     int64        `db:"generation"`
	Revision       int64        `db:"revision"`
	Now            core.Instant `db:"now"`
}

// grantTokens is what is encrypted of a grant.
type grantTokens struct {
	Access  string `json:"access"`
	Refresh string `json:"refresh,omitempty"`
}

func tokensField(owner tenant.ID, of connection.ID) outbound.SecretField {
	return outbound.SecretField{Tenant: owner, Record: string(of), Field: "tokens"}
}

// restore gives a grant with the tokens.
func (row grantRow) restore(tokens grantTokens) (*connection.Grant, error) {
	st := connection.GrantState{
		Tenant: tenant.ID(row.Tenant), Connection: connection.ID(row.Connection), Client: row.Client,
		IssuedAt: core.InUTC(row.IssuedAt), ExpiresAt: core.InUTC(row.ExpiresAt), RenewAt: core.InUTC(row.RenewAt),
		RetryAt: core.InUTC(row.RetryAt), LeaseEnds: core.InUTC(row.LeaseEnds), Generation: row.Generation, Revision: row.Revision,
	}
	if tokens.Access != "" {
		st.Access = connection.NewText(tokens.Access)
	}
	if tokens.Refresh != "" {
		st.Refresh = connection.NewText(tokens.Refresh)
	}
	if row.FailedAt != nil {
		st.Failure = &connection.TokenFailure{Code: connection.FailureCode(row.FailureCode), Message: row.FailureMessage, At: row.FailedAt.UTC()}
	}
	if err := json.Unmarshal([]byte(row.Scopes), &st.Scopes); err != nil {
		return nil, fmt.Errorf("grant of %s: scopes: %w", row.Connection, err)
	}
	return connection.RestoreGrant(st), nil
}

const grantNotFound, grantNotFoundMessage = "grant_not_found", "Nothing was asked for yet for this connection."

// Get reads a grant.
func (s grants) Get(ctx context.Context, scope tenant.Scope, of connection.ID) (*connection.Grant, time.Time, error) {
	in, args := core.Within(scope, core.BySubTenant.Of("c"), string(of))
	lock := s.ForUpdate()
	if lock != "" {
		lock += " OF g"
	}
	var row grantRow
	err := s.ReadRow(ctx, "get grant", &row, `SELECT `+grantColumns+`, `+s.store.dialect.Clock+` AS now
		FROM connection_grants g JOIN connections c ON c.tenant_id = g.tenant_id AND c.id = g.connection_id
		WHERE g.tenant_id = $1 AND g.connection_id = $2`+in+lock, args...)
	if err != nil {
		return nil, time.Time{}, core.NotFound(err, grantNotFound, grantNotFoundMessage)
	}
	var tokens grantTokens
	if row.Tokens != nil {
		text, err := s.OpenText(ctx, *row.Tokens, tokensField(tenant.ID(row.Tenant), of))
		if err != nil {
			return nil, time.Time{}, err
		}
		if json.Unmarshal([]byte(text), &tokens) != nil {
			return nil, time.Time{}, fmt.Errorf("grant of %s: the tokens are not JSON", row.Connection)
		}
	}
	g, err := row.restore(tokens)
	return g, row.Now.Time, err
}

// States reads grants without their tokens.
func (s grants) States(ctx context.Context, scope tenant.Scope, of ...connection.ID) (map[connection.ID]*connection.Grant, error) {
	found := make(map[connection.ID]*connection.Grant, len(of))
	if len(of) == 0 {
		return found, nil
	}
	args, places := []any{}, make([]string, len(of))
	for i, id := range of {
		args = append(args, string(id))
		places[i] = fmt.Sprintf("$%d", len(args)+1)
	}
	in, all := core.Within(scope, core.BySubTenant.Of("c"), args...)
	var rows []grantRow
	err := s.ReadRows(ctx, "read the states of grants", &rows, `SELECT `+grantColumns+`
		FROM connection_grants g JOIN connections c ON c.tenant_id = g.tenant_id AND c.id = g.connection_id
		WHERE g.tenant_id = $1 AND g.connection_id IN (`+strings.Join(places, ", ")+`)`+in, all...)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		var tokens grantTokens
		if row.Tokens != nil {
			tokens.Access = connection.Redacted
		}
		g, err := row.restore(tokens)
		if err != nil {
			return nil, err
		}
		found[g.Connection()] = g
	}
	return found, nil
}

// encodedGrant holds the members of a grant that are kept in another form.
type encodedGrant struct {
	tokens                     *string
	scopes                     string
	failureCode, failureReason string
	failedAt                   *time.Time
}

func (s grants) encode(ctx context.Context, st connection.GrantState) (e encodedGrant, err error) {
	if !st.Access.IsZero() {
		plain, err := json.Marshal(grantTokens{Access: st.Access.Reveal(), Refresh: st.Refresh.Reveal()})
		if err != nil {
			return e, s.Fail(fmt.Errorf("encode the tokens of a grant: %w", err))
		}
		sealed, err := s.SealText(ctx, plain, tokensField(st.Tenant, st.Connection))
		if err != nil {
			return e, err
		}
		e.tokens = &sealed
	}
	scopes, err := json.Marshal(append([]string{}, st.Scopes...))
	if err != nil {
		return e, s.Fail(fmt.Errorf("encode the scopes of a grant: %w", err))
	}
	e.scopes = string(scopes)
	if f := st.Failure; f != nil {
		e.failureCode, e.failureReason, e.failedAt = string(f.Code), f.Message, &f.At
	}
	return e, nil
}

var errGrantMade = errors.New("another unit made the first grant of the connection")

// Insert adds the first grant of a connection.
func (s grants) Insert(ctx context.Context, g *connection.Grant) error {
	st := g.State()
	e, err := s.encode(ctx, st)
	if err != nil {
		return err
	}
	var id string
	err = s.ReadRow(ctx, "hold the connection of a grant", &id, `SELECT id FROM connections WHERE tenant_id = $1 AND id = $2`+s.ForUpdate(), string(st.Tenant), string(st.Connection))
	if err != nil {
		return s.Fail(core.NotFound(err, connectionNotFound, connectionNotFoundMessage))
	}
	made, err := s.Exec(ctx, "insert grant", `INSERT INTO connection_grants (tenant_id, connection_id, client, tokens, scopes, issued_at, expires_at, renew_at,
			failure_code, failure_message, failed_at, retry_at, lease_ends, generation, revision)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (tenant_id, connection_id) DO NOTHING`,
		string(st.Tenant), string(st.Connection), st.Client, e.tokens, e.scopes, st.IssuedAt, st.ExpiresAt, st.RenewAt,
		e.failureCode, e.failureReason, e.failedAt, st.RetryAt, st.LeaseEnds, st.Generation, st.Revision)
	if err == nil && made == 0 {
		return s.Fail(&core.Collision{Cause: errGrantMade})
	}
	return err
}

// Update writes a grant whose stored revision is the aggregate's.
func (s grants) Update(ctx context.Context, g *connection.Grant) error {
	st := g.State()
	e, err := s.encode(ctx, st)
	if err != nil {
		return err
	}
	changed, err := s.Exec(ctx, "update grant", `UPDATE connection_grants
		SET client = $1, tokens = $2, scopes = $3, issued_at = $4, expires_at = $5, renew_at = $6, failure_code = $7, failure_message = $8,
			failed_at = $9, retry_at = $10, lease_ends = $11, generation = $12, revision = revision + 1
		WHERE tenant_id = $13 AND connection_id = $14 AND revision = $15`,
		st.Client, e.tokens, e.scopes, st.IssuedAt, st.ExpiresAt, st.RenewAt, e.failureCode, e.failureReason,
		e.failedAt, st.RetryAt, st.LeaseEnds, st.Generation, string(st.Tenant), string(st.Connection), st.Revision)
	return s.CheckUpdated(changed, err, g.Saved, func() error {
		_, _, err := s.Get(ctx, tenant.All(st.Tenant), st.Connection)
		return err
	})
}

// Due lists grants that are to be renewed although nobody uses them.
func (s grants) Due(ctx context.Context, limit int) ([]outbound.GrantKey, error) {
	var rows []struct {
		Tenant     string `db:"tenant_id"`
		Connection string `db:"connection_id"`
	}
	err := s.ReadRows(ctx, "list grants that are due", &rows, `SELECT g.tenant_id, g.connection_id
		FROM connection_grants g JOIN connections c ON c.tenant_id = g.tenant_id AND c.id = g.connection_id JOIN tenants t ON t.id = g.tenant_id
		WHERE g.renew_at <= `+s.store.dialect.Clock+` AND c.is_active AND t.status = 'active'
		ORDER BY g.renew_at LIMIT $1`, limit)
	keys := make([]outbound.GrantKey, len(rows))
	for i, row := range rows {
		keys[i] = outbound.GrantKey{Tenant: tenant.ID(row.Tenant), Connection: connection.ID(row.Connection)}
	}
	return keys, err
}

type consents struct{ *unit }

var _ outbound.ConsentRepository = consents{}

// Insert adds a request for consent.
func (s consents) Insert(ctx context.Context, r *connection.ConsentRequest, now time.Time) error {
	st := r.State()
	owner, of := string(st.Tenant), string(st.Connection)
	if _, err := s.Exec(ctx, "remove requests for consent that have ended", `DELETE FROM consent_requests WHERE tenant_id = $1 AND ends_at <= $2`, owner, now); err != nil {
		return err
	}
	_, err := s.Exec(ctx, "remove the oldest requests for consent", `DELETE FROM consent_requests WHERE tenant_id = $1 AND connection_id = $2 AND digest NOT IN
			(SELECT digest FROM consent_requests WHERE tenant_id = $1 AND connection_id = $2 ORDER BY ends_at DESC, digest LIMIT $3)`,
		owner, of, connection.MaxConsents-1)
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, "insert request for consent", `INSERT INTO consent_requests (tenant_id, digest, connection_id, client, ends_at) VALUES ($1, $2, $3, $4, $5)`,
		owner, st.Digest, of, st.Client, st.EndsAt)
	return err
}

// Get reads a request for consent.
func (s consents) Get(ctx context.Context, digest string) (*connection.ConsentRequest, error) {
	var row struct {
		Tenant     string    `db:"tenant_id"`
		Connection string    `db:"connection_id"`
		Client     string    `db:"client"`
		EndsAt     time.Time `db:"ends_at"`
	}
	err := s.ReadRow(ctx, "get request for consent", &row, `SELECT tenant_id, connection_id, client, ends_at FROM consent_requests WHERE digest = $1`, digest)
	if err != nil {
		return nil, consentEnded(err)
	}
	return connection.RestoreConsentRequest(connection.ConsentRequestState{
		Digest: digest, Tenant: tenant.ID(row.Tenant), Connection: connection.ID(row.Connection), Client: row.Client, EndsAt: row.EndsAt.UTC(),
	}), nil
}

func consentEnded(err error) error {
	if err := core.NotFound(err, "", ""); domain.KindOf(err) != domain.NotFound {
		return err
	}
	return connection.ConsentEnded()
}

// Take removes a request for consent.
func (s consents) Take(ctx context.Context, digest string) error {
	n, err := s.Exec(ctx, "take request for consent", `DELETE FROM consent_requests WHERE digest = $1`, digest)
	if err == nil && n == 0 {
		return connection.ConsentEnded()
	}
	return err
}
