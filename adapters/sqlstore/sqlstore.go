package sqlstore

import (
	"context"

	"github.com/jmoiron/sqlx"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/adapters/sqlstore/webhooks"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Store is a database that units of work run on.
type Store struct {
	*core.Store
	Runs     *runs.Store
	Webhooks *webhooks.Store

	// RunDays is for how many days the runs of tenants are kept that have no days of their own;
	// 0 for the domain's default. It is set before the store is used.
	RunDays int

	// BytesKept is how many bytes of runs are kept of tenants that have no budget of their own; 0 for
	// any number. It is set before the store is used.
	BytesKept int64

	// EntriesSealed is called with how many rows of audit_waiting a unit has removed; nil where nobody wants to
	// know. It is set before the store is used.
	EntriesSealed func(rows int)

	dialect Dialect
	turns   scheduleTurns
}

var (
	_ outbound.UnitOfWork = (*Store)(nil)
	_ outbound.Changes    = (*Store)(nil)
)

// New returns a store over two pools, which may be the same: one for units that
// write and one for units that only read.
func New(writer, reader *sqlx.DB, dialect Dialect, migrator core.Migrator, notices core.Notices) *Store {
	s := &Store{dialect: dialect}
	s.Runs, s.Webhooks = runs.New(&s.dialect.Dialect, dialect.Runs), webhooks.New(&s.dialect.Dialect, dialect.Webhooks)
	s.Store = core.New(writer, reader, dialect.Dialect, migrator, notices, s.repositories)
	return s
}

// unit is a unit of work on all that has no package of its own.
type unit struct {
	*core.Unit
	store *Store
}

func (s *Store) repositories(u *core.Unit) outbound.Stores {
	in := &unit{u, s}
	return outbound.Stores{
		Tenants:             tenants{in},
		APIKeys:             apiKeys{in},
		EmbedTokens:         embedTokens{in},
		Credentials:         credentials{in},
		Workflows:           workflows{in},
		Versions:            versions{in},
		Snapshots:           snapshots{in},
		Activation:          activation{in},
		Triggers:            triggers{in},
		Firing:              firing{in},
		Schedules:           schedules{in},
		Fires:               fires{in},
		SubTenants:          subTenants{in},
		SubTenantDirectory:  subTenantDirectory{in},
		CustomNodes:         customNodes{in},
		Addresses:           customNodeAddresses{in},
		NodeHealth:          nodeHealth{in},
		NodeSecrets:         nodeSecrets{in},
		Connections:         connections{in},
		Grants:              grants{in},
		Consents:            consents{in},
		Idempotency:         idempotency{in},
		OperatorIdempotency: operatorIdempotency{in},
		Processes:           processes{in},
		Secrets:             secrets{in},
		Hooks:               outbound.HookStores{Hooks: hooks{in}, Deliveries: hookDeliveries{in}, Keys: hookKeys{in}},
		Members: outbound.MemberStores{
			Users: users{in}, Memberships: memberships{in}, OfUsers: membershipsOfUsers{in}, Sessions: sessions{in}, Links: links{in}, Letters: letters{in},
			EndedSessions: sessions{in}, EndedLinks: links{in}, EndedLetters: letters{in},
		},
		Erasures: erasures{in},
		Sealed:   secrets{in},
		Audit:    outbound.AuditStores{Log: auditLog{in}, Sealing: auditSealing{in}, Chain: auditChain{in}},
		Usage:    outbound.UsageStores{Log: usageLog{in}, Folding: usageFolding{in}, Recount: usageRecount{in}, Budgets: usageBudgets{in}},
		Runs:     s.Runs.In(u),
		Webhooks: s.Webhooks.In(u),
	}
}

// RunKey returns the key from which the secrets of runs are derived. The first call on
// a database keeps the proposed one; every other call, in any process, returns that.
func (s *Store) RunKey(ctx context.Context, proposed run.Key) (key run.Key, err error) {
	err = s.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		bits, err := st.Secrets.GatewayKey(ctx, "runs", proposed[:])
		if err == nil {
			key = run.Key(bits)
		}
		return err
	})
	return key, err
}

// Migration is one step of the schema.
type Migration = core.Migration

// RunSignals notify processes of runs that changed.
type RunSignals = runs.Signals

// NewRunSignals returns the signals of a store's runs.
func NewRunSignals(store *Store) *runs.Signals { return runs.NewSignals(store.Store) }
