package outbound

import "context"

// UnitOfWork runs a function against the stores so that all its writes take
// effect together or not at all.
type UnitOfWork interface {
	// Do commits exactly when fn returns nil. An error of fn comes back unchanged and
	// nothing is written; an error of the commit comes back as Unavailable or
	// Internal. fn may run again when the database reports that it collided with
	// another unit, so it has no effect but through the stores. Once a write has
	// failed, the unit does not commit even if fn ignores the failure. Units must not
	// be nested. A cancelled ctx stops the unit.
	Do(ctx context.Context, fn func(context.Context, Stores) error) error

	// View runs fn against one consistent snapshot. A write inside fn is an error.
	View(ctx context.Context, fn func(context.Context, Stores) error) error

	// Read runs fn so that each call of a repository sees the newest state, of one instant
	// for that call: cheaper than View, for what needs one call. A write inside fn is an
	// error.
	Read(ctx context.Context, fn func(context.Context, Stores) error) error
}

// Stores are the repositories of one unit of work. They are valid only inside the
// function that received them, and not for concurrent use.
//
// What holds for all of them: a record of another tenant, or outside of the scope, is reported
// as one that does not exist, and neither listed nor counted; a scope of one sub-tenant does
// not cover the records of no sub-tenant. Insert and Update take tenant and sub-tenant from
// the aggregate: it was read within the scope, or the use case asked tenant.Scope.Check. Every
// other method has the scope as an argument, or the tenant where records belong to no sub-
// tenant by their nature: tenant.Caller.May keeps others away from those. What the gateway
// does for itself has the scope of the whole tenant. Users of the console, with their sessions and links, belong to
// no tenant: what concerns them is found by the user. Update compares the aggregate's revision
// with the stored one and raises it by one in both, and a stale one is a Conflict with the
// code stale_revision. In a unit that writes, Get holds the record until the unit ends, so
// what is read, changed and written in one unit is never stale. A list comes in the order
// asked for, ties by id in the same direction, and with the exact number of all records that
// fit, as of one instant.
type Stores struct {
	Tenants             TenantRepository
	APIKeys             APIKeyRepository
	EmbedTokens         EmbedTokenRepository
	Credentials         CredentialRepository
	Workflows           WorkflowRepository
	Versions            VersionRepository
	Snapshots           SnapshotRepository
	Activation          ActivationRepository
	Triggers            TriggerRepository
	Firing              FiringRepository
	Schedules           ScheduleRepository
	Fires               FireRepository
	SubTenants          SubTenantRepository
	SubTenantDirectory  SubTenantDirectory
	CustomNodes         CustomNodeRepository
	Addresses           CustomNodeAddresses
	NodeHealth          NodeHealthRepository
	NodeSecrets         NodeSecretRepository
	Connections         ConnectionRepository
	Grants              GrantRepository
	Consents            ConsentRepository
	Idempotency         IdempotencyRepository
	OperatorIdempotency OperatorIdempotencyRepository
	Processes           ProcessRepository
	Secrets             SecretRepository
	Hooks               HookStores
	Members             MemberStores
	Sealed              SealedRepository
	Audit               AuditStores
	Usage               UsageStores
	Erasures            ErasureRepository
	Webhooks            WebhookStores
	Runs                RunStores
}
