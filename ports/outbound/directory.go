package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Directory answers what nearly every request asks before it does anything. It may
// answer from memory: an answer holds every change that this process committed
// before the call, and every change of another process that is a second old
// (decisions on API keys: revocation takes effect at once on the node that did it,
// within a second elsewhere).
//
// What it returns is shared between callers, who only read it.
type Directory interface {
	// Credential returns the key with this hash and its tenant, whatever their state,
	// or NotFound with the code api_key_not_found. A hash that is asked for again and
	// again costs no store anything, be it known or not.
	Credential(ctx context.Context, hash tenant.KeyHash) (Credential, error)

	// RecordUse records that the credential's key was accepted at the time, at most once
	// in each tenant.UsedResolution. It is a note for people: where the store cannot take
	// it soon, it is left out.
	RecordUse(ctx context.Context, c Credential, at time.Time)

	// Registry returns the node types that a tenant sees, in its language. It is the
	// same registry, pointer and all, until something changes in it. An unknown tenant
	// is NotFound with the code tenant_not_found.
	Registry(ctx context.Context, owner tenant.ID) (*node.Registry, error)

	// CurrentRegistry returns the same as of now: nothing is missing in it that was
	// committed before the call, wherever that was.
	CurrentRegistry(ctx context.Context, owner tenant.ID) (*node.Registry, error)

	// VersionParent returns the parent of a version, as VersionRepository.Parent does, except
	// that the version may have been deleted since: where it belongs never changes,
	// that it exists does.
	VersionParent(ctx context.Context, scope tenant.Scope, id workflow.VersionID) (VersionParent, error)
}
