package workflows

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Versions implements inbound.Versions.
type Versions struct {
	work        outbound.UnitOfWork
	expressions outbound.Expressions
	clock       outbound.Clock
	random      outbound.Random
	memory      Memory // for checks; nil for as much as they take
}

var _ inbound.Versions = (*Versions)(nil)

// NewVersions returns the service.
func NewVersions(work outbound.UnitOfWork, expressions outbound.Expressions, clock outbound.Clock, random outbound.Random) *Versions {
	return &Versions{work: work, expressions: expressions, clock: clock, random: random}
}

// Create saves a draft under the workflow's next number.
func (s *Versions) Create(ctx context.Context, who tenant.Caller, once domain.Once, d inbound.VersionDraft) (made inbound.CheckedVersion, err error) {
	if err = who.May(tenant.CreateVersion); err != nil {
		return made, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Outcomes.Claim(ctx, who.Tenant, once, now); err != nil {
			return err
		}
		wf, number, err := nextVersion(ctx, st, who.Tenant, d.Workflow)
		if err != nil {
			return err
		}
		id := workflow.VersionID(s.random.ID(workflow.VersionIDPrefix))
		ver, err := workflow.NewVersion(id, wf, number, d.VersionDraft, s.newEdgeID, now)
		if err != nil {
			return err
		}
		if err := st.Versions.Insert(ctx, ver); err != nil {
			return err
		}
		if made, err = checked(ctx, st, who, ver); err != nil {
			return err
		}
		return st.Outcomes.Keep(ctx, who.Tenant, once, made, now)
	})
	return made, err
}

// nextVersion returns the workflow and the number of its next version; nil when
// there is no such workflow.
func nextVersion(ctx context.Context, st outbound.Stores, owner tenant.ID, id workflow.ID) (*workflow.Workflow, int, error) {
	wf, err := st.Workflows.Get(ctx, owner, id)
	if errors.Is(err, domain.NotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	number, err := st.Workflows.NextVersion(ctx, owner, id)
	return wf, number, err
}

// Get returns a version.
func (s *Versions) Get(ctx context.Context, who tenant.Caller, id workflow.VersionID) (found inbound.CheckedVersion, err error) {
	if err = who.May(tenant.ReadVersions); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		ver, err := st.Versions.Get(ctx, who.Tenant, id)
		if err != nil {
			return err
		}
		found, err = checked(ctx, st, who, ver)
		return err
	})
	return found, err
}

// List returns a page of a workflow's versions.
func (s *Versions) List(ctx context.Context, who tenant.Caller, f workflow.VersionFilter, q domain.Query) (found domain.Page[inbound.CheckedVersion], err error) {
	if err = who.May(tenant.ReadVersions); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Workflows.Get(ctx, who.Tenant, f.Workflow); err != nil {
			return err
		}
		page, err := st.Versions.List(ctx, who.Tenant, f, q)
		if err != nil {
			return err
		}
		registry, err := registryOf(ctx, st, who)
		if err != nil {
			return err
		}
		found = domain.Page[inbound.CheckedVersion]{Total: page.Total, Limit: page.Limit, Offset: page.Offset}
		for _, ver := range page.Items {
			found.Items = append(found.Items, against(registry, ver))
		}
		return nil
	})
	return found, err
}

// Update replaces the nodes or the edges of a draft.
func (s *Versions) Update(ctx context.Context, who tenant.Caller, id workflow.VersionID, at domain.Expected, p workflow.VersionPatch) (changed inbound.CheckedVersion, err error) {
	if err = who.May(tenant.ChangeVersion); err != nil {
		return changed, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		ver, err := st.Versions.Get(ctx, who.Tenant, id)
		if err != nil {
			return err
		}
		if err := at.Check(ver.Revision()); err != nil {
			return err
		}
		if err := ver.Edit(p, s.newEdgeID); err != nil {
			return err
		}
		if err := st.Versions.Update(ctx, ver); err != nil {
			return err
		}
		changed, err = checked(ctx, st, who, ver)
		return err
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
		ver, err := st.Versions.Get(ctx, who.Tenant, id)
		if err != nil {
			return err
		}
		if err := at.Check(ver.Revision()); err != nil {
			return err
		}
		if err := ver.CheckDeletable(); err != nil {
			return err
		}
		if err := st.Versions.Delete(ctx, who.Tenant, id); err != nil {
			return err
		}
		inUse, err := st.Runs.Live.Executes(ctx, who.Tenant, ver.Workflow(), id)
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

// registryOf returns what the caller's tenant can build with.
func registryOf(ctx context.Context, st outbound.Stores, who tenant.Caller) (node.Registry, error) {
	custom, err := st.CustomNodes.Active(ctx, who.Tenant)
	if err != nil {
		return node.Registry{}, err
	}
	return node.RegistryFor(who.Tenant, who.Settings.Language, who.Settings.DisabledNodeTypes, custom), nil
}

// checked holds a version against its tenant's registry.
func checked(ctx context.Context, st outbound.Stores, who tenant.Caller, ver *workflow.Version) (inbound.CheckedVersion, error) {
	registry, err := registryOf(ctx, st, who)
	if err != nil {
		return inbound.CheckedVersion{}, err
	}
	return against(registry, ver), nil
}

func against(registry node.Registry, ver *workflow.Version) inbound.CheckedVersion {
	canPause := make(map[workflow.NodeID]bool)
	for _, n := range ver.Graph().Nodes() {
		if version, err := node.ParseSemVer(n.Version); err == nil {
			if known, ok := registry.Lookup(node.Type(n.Type), version); ok {
				canPause[n.ID] = known.CanPause
			}
		}
	}
	return inbound.CheckedVersion{Version: ver, CanPause: canPause}
}
