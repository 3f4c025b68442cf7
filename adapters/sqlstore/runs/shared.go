package runs

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// sharedPayloads keeps payloads that several runs have in common in rows of their own.
// The schema removes such a row with the last run that refers to it.
type sharedPayloads struct{ repository }

var _ outbound.SharedPayloads = sharedPayloads{}

// Start holds the payload, or adds it, before the runs refer to it: whoever removes the
// last other run meanwhile waits.
func (s sharedPayloads) Start(ctx context.Context, id outbound.PayloadID, all ...*run.Run) ([]outbound.StartedRun, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if !s.InTransaction() || !s.Writes() {
		return nil, s.Fail(errUnit)
	}
	owner := string(all[0].Tenant())
	var held []string
	err := s.ReadRows(ctx, "hold a shared payload", &held, `SELECT id FROM run_payloads WHERE tenant_id = $1 AND id = $2`+s.store.dialect.HoldShared,
		owner, string(id))
	if err != nil {
		return nil, s.Fail(err)
	}
	added := int64(0)
	if len(held) == 0 {
		// Of several units that add it one does, and the others wait and refer to it.
		added, err = s.Exec(ctx, "add a shared payload", `INSERT INTO run_payloads (tenant_id, id, payload) VALUES ($1, $2, $3)
			ON CONFLICT (tenant_id, id) DO UPDATE SET id = excluded.id`, owner, string(id), string(all[0].Payload()))
		if err != nil {
			return nil, err
		}
	}
	started, err := s.start(ctx, id, all)
	if err != nil || added == 0 || slices.ContainsFunc(started, func(r outbound.StartedRun) bool { return r.Added }) {
		return started, err
	}
	// All of them were there before: nothing would ever remove the payload.
	_, err = s.Exec(ctx, "remove a shared payload", `DELETE FROM run_payloads WHERE tenant_id = $1 AND id = $2
		AND NOT EXISTS (SELECT 1 FROM runs WHERE tenant_id = $1 AND payload_id = $2)`, owner, string(id))
	return started, err
}
