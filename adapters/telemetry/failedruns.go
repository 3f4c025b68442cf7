package telemetry

import (
	"context"
	"encoding/json"
	"regexp"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// LogFailedRuns returns a unit of work that does what the given one does, and logs each run
// that failed with it, once it has committed: what failed and where, and nothing of what the
// run was given, nor what a node said.
func LogFailedRuns(work outbound.UnitOfWork, log zerolog.Logger) outbound.UnitOfWork {
	return watchedWork{work, func(ctx context.Context, happened []*event.Event) {
		for _, e := range happened {
			if e.Type() == event.RunFailed {
				logFailed(ctx, log, e)
			}
		}
	}}
}

// failedRun is what the log takes from the event of a run that failed.
type failedRun struct {
	RunID, WorkflowID, TriggerID, SubTenantID, ParentRunID string
	Error                                                  struct{ Code, NodeID, EdgeID string }
}

// nodeError stands in the log for the code of a failure that is none: custom nodes may
// write there what they like.
const nodeError = "node_error"

var isCode = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

func logFailed(ctx context.Context, log zerolog.Logger, e *event.Event) {
	line := log.Warn()
	if !line.Enabled() {
		return
	}
	var r failedRun
	if err := json.Unmarshal([]byte(e.Data().String()), &r); err != nil {
		log.Error().Ctx(ctx).Err(err).Str("tenantId", string(e.Tenant())).Msg("the event of a run that failed cannot be read")
		return
	}
	if !isCode.MatchString(r.Error.Code) {
		r.Error.Code = nodeError
	}
	line = line.Ctx(ctx).Str("tenantId", string(e.Tenant())).Str("runId", r.RunID).Str("code", r.Error.Code)
	for _, member := range []struct{ name, value string }{
		{"nodeId", r.Error.NodeID}, {"edgeId", r.Error.EdgeID}, {"workflowId", r.WorkflowID}, {"triggerId", r.TriggerID},
		{"subTenantId", r.SubTenantID}, {"parentRunId", r.ParentRunID},
	} {
		if member.value != "" {
			line = line.Str(member.name, member.value)
		}
	}
	line.Msg("a run failed")
}
