package workflows

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Versions implements inbound.Versions.
type Versions struct {
	work        outbound.UnitOfWork
	expressions workflow.Expressions
	directory   outbound.Directory
	clock       outbound.Clock
	random      outbound.Random
	memory      outbound.Budget     // for checks; nil for as much as they take
	code        outbound.CodeRunner // reads sources; nil where code is switched off
	compiler    run.Compiler        // of what is tried with sample data; nil for no values
	computing   execution.Computing
}

var _ inbound.Versions = (*Versions)(nil)

// NewVersions returns the service.
func NewVersions(work outbound.UnitOfWork, directory outbound.Directory, expressions workflow.Expressions, clock outbound.Clock, random outbound.Random) *Versions {
	return &Versions{work: work, directory: directory, expressions: expressions, clock: clock, random: random}
}

// Create saves a draft under the workflow's next number. The graph is built before the unit
// of work, which others may have to wait for.
func (s *Versions) Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d inbound.VersionDraft) (made inbound.CheckedVersion, err error) {
	if err = who.May(tenant.CreateVersion); err != nil {
		return made, err
	}
	now := s.clock.Now()
	var wf *workflow.Workflow
	registry, err := s.registry(ctx, who, func(ctx context.Context, st outbound.Stores) (err error) {
		if wf, err = st.Workflows.Get(ctx, who.Scope, d.Workflow); errors.Is(err, domain.NotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return made, err
	}
	ver, invalid := workflow.NewVersion(workflow.VersionID(s.random.ID(workflow.VersionIDPrefix)), wf, 0, d.VersionDraft, s.newEdgeID, now)
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		if invalid != nil {
			return invalid
		}
		number, err := st.Workflows.NextVersion(ctx, who.Scope, d.Workflow)
		if err != nil {
			return err
		}
		ver.SetNumber(number)
		if err := st.Versions.Insert(ctx, ver); err != nil {
			return err
		}
		made = checkAgainst(registry, ver, who)
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, made, now)
	})
	return made, err
}

// registry returns what the caller can build with, after what else is read first.
func (s *Versions) registry(ctx context.Context, who tenant.Caller, first func(context.Context, outbound.Stores) error) (*node.Registry, error) {
	if err := s.work.View(ctx, first); err != nil {
		return nil, err
	}
	registry, err := s.directory.CurrentRegistry(ctx, who.Tenant())
	if err != nil {
		return nil, err
	}
	return registry.For(who), nil
}

// Get returns a version.
func (s *Versions) Get(ctx context.Context, who tenant.Caller, id workflow.VersionID) (found inbound.CheckedVersion, err error) {
	if err = who.May(tenant.ReadVersions); err != nil {
		return found, err
	}
	var ver *workflow.Version
	registry, err := s.registry(ctx, who, func(ctx context.Context, st outbound.Stores) (err error) {
		ver, err = st.Versions.Get(ctx, who.Scope, id)
		return err
	})
	if err != nil {
		return found, err
	}
	return checkAgainst(registry, ver, who), nil
}

// List returns a page of a workflow's versions.
func (s *Versions) List(ctx context.Context, who tenant.Caller, f workflow.VersionFilter, q domain.Query) (found domain.Page[inbound.CheckedVersion], err error) {
	if err = who.May(tenant.ReadVersions); err != nil {
		return found, err
	}
	var page domain.Page[*workflow.Version]
	registry, err := s.registry(ctx, who, func(ctx context.Context, st outbound.Stores) (err error) {
		if _, err = st.Workflows.Get(ctx, who.Scope, f.Workflow); err != nil {
			return err
		}
		page, err = st.Versions.List(ctx, who.Scope, f, q)
		return err
	})
	if err != nil {
		return found, err
	}
	found = domain.Page[inbound.CheckedVersion]{Total: page.Total, Limit: page.Limit, Offset: page.Offset}
	for _, ver := range page.Items {
		found.Items = append(found.Items, checkAgainst(registry, ver, who))
	}
	return found, nil
}

// Update replaces the nodes or the edges of a draft, which are checked before the unit of
// work, as in [Versions.Create].
func (s *Versions) Update(ctx context.Context, who tenant.Caller, id workflow.VersionID, at domain.Expected, p workflow.VersionPatch) (changed inbound.CheckedVersion, err error) {
	if err = who.May(tenant.ChangeVersion); err != nil {
		return changed, err
	}
	err = retryStale(func() error {
		var ver *workflow.Version
		registry, err := s.registry(ctx, who, func(ctx context.Context, st outbound.Stores) (err error) {
			ver, err = st.Versions.Get(ctx, who.Scope, id)
			return err
		})
		if err != nil {
			return err
		}
		if err := at.Check(ver.Revision()); err != nil {
			return err
		}
		if err := ver.Edit(p, s.newEdgeID); err != nil {
			return err
		}
		changed = checkAgainst(registry, ver, who)
		return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return st.Versions.Update(ctx, ver) })
	})
	return changed, err
}

// Delete removes a version that is not active and that no run executes any more, with its
// triggers. Runs are looked for after it was deleted: then none can be started any more.
func (s *Versions) Delete(ctx context.Context, who tenant.Caller, id workflow.VersionID, at domain.Expected) error {
	if err := who.May(tenant.DeleteVersion); err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		ver, err := st.Versions.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if err := at.Check(ver.Revision()); err != nil {
			return err
		}
		if err := ver.CheckDeletable(); err != nil {
			return err
		}
		if err := st.Versions.Delete(ctx, who.Scope, id); err != nil {
			return err
		}
		inUse, err := st.Runs.Overview.Executes(ctx, who.Scope, ver.Workflow(), id)
		if err == nil && inUse {
			err = domain.Fail(domain.Conflict, "version_in_use",
				"Runs that have not finished execute version %d. Wait until they have, or cancel them.", ver.Number())
		}
		return err
	})
}

func (s *Versions) newEdgeID() workflow.EdgeID {
	return workflow.EdgeID(s.random.ID(workflow.EdgeIDPrefix))
}

// checkAgainst says what a version means to a registry. Its pins, and secrets that stand in its nodes, are for those
// who may change it.
func checkAgainst(registry *node.Registry, ver *workflow.Version, who tenant.Caller) inbound.CheckedVersion {
	canPause := make(map[workflow.NodeID]bool)
	for _, n := range ver.Graph().Nodes() {
		if version, err := node.ParseSemVer(n.Version); err == nil {
			if known, ok := registry.Lookup(node.Type(n.Type), version); ok {
				canPause[n.ID] = known.CanPause
			}
		}
	}
	if who.May(tenant.ChangeVersion) != nil {
		return inbound.CheckedVersion{Version: ver.WithoutSecrets(), CanPause: canPause}
	}
	return inbound.CheckedVersion{Version: ver, CanPause: canPause, ShownPins: ver.Pins()}
}
