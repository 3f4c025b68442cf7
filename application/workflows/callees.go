package workflows

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Bounds of what is looked at of the workflows that a version calls. Of the others nothing is
// known but that they are there.
const (
	maxCallees       = 16
	maxCalleesWeight = 16 << 20 // bytes of memory
)

// callee is a workflow that a version calls, as it is stored.
type callee struct {
	graph   workflow.Graph   // of its active version; without nodes where that is not looked at
	schemas []trigger.Config // what that declares of the payload
	weight  int64            // how many bytes it takes to find out what it gives
}

// calledBy finds those workflows within a scope that a version may call: those of its sub-tenant. Nothing is known
// of itself, for it may give something else from now on.
func calledBy(ctx context.Context, st outbound.Stores, scope tenant.Scope, ver *workflow.Version, ids []workflow.ID, room int64) (map[workflow.ID]callee, error) {
	called := make(map[workflow.ID]callee)
	looked := 0
	for _, id := range ids {
		active, err := st.Firing.Version(ctx, scope, id, "")
		if errors.Is(err, domain.NotFound) || err == nil && active.SubTenant != ver.SubTenant() {
			continue
		}
		if err != nil {
			return nil, err
		}
		called[id] = callee{}
		if active.Version == "" || id == ver.Workflow() || looked == maxCallees {
			continue
		}
		looked++
		one, err := calleeOf(ctx, st, scope, active.Version)
		switch {
		case errors.Is(err, domain.NotFound): // any more
		case err != nil:
			return nil, err
		case one.weight <= room:
			called[id], room = one, room-one.weight
		}
	}
	return called, nil
}

// roomForCallees is how many bytes there are for what a version calls besides what it takes itself.
func (s *Versions) roomForCallees(need int64) int64 {
	if s.memory == nil {
		return maxCalleesWeight
	}
	return min(maxCalleesWeight, s.memory.Max()-need)
}

func calleeOf(ctx context.Context, st outbound.Stores, scope tenant.Scope, active workflow.VersionID) (one callee, err error) {
	ver, err := st.Versions.Get(ctx, scope, active)
	if err != nil {
		return one, err
	}
	triggers, err := st.Triggers.OfVersion(ctx, scope, active)
	one = callee{graph: ver.Graph(), schemas: payloadSchemas(triggers)}
	one.weight = weightOfCheck(one.graph) + weightOfSchemas(one.schemas)
	return one, err
}

// calleesOf reads the schemas of what is called.
func calleesOf(called map[workflow.ID]callee) map[workflow.ID]workflow.Callee {
	read := make(map[workflow.ID]workflow.Callee, len(called))
	for id, c := range called {
		read[id] = workflow.Callee{Graph: c.graph, Payloads: schemasOf(c.schemas)}
	}
	return read
}

func schemasOf(of []trigger.Config) (all []node.Schema) {
	for _, config := range of {
		if schema, ok := config.PayloadSchema(); ok {
			all = append(all, schema)
		}
	}
	return all
}
