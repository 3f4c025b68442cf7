package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// addOutputs writes the large outputs that a run got since its history was as long as from.
// A row is never written again: every step writes the progress anew, which would make an
// output of a megabyte cost as much with each later step.
func (s repository) addOutputs(ctx context.Context, st *run.State, from int64) error {
	for n := range st.LargeOutputs() {
		if n.OutputSeq <= from {
			continue
		}
		_, err := s.Exec(ctx, "keep an output", `INSERT INTO run_outputs (tenant_id, run_id, node_id, output) VALUES ($1, $2, $3, $4)`,
			string(st.Tenant), string(st.ID), string(n.ID), asText(n.Output))
		if err != nil {
			return err
		}
	}
	return nil
}

// readOutputs adds the large outputs to runs that have some.
func (s repository) readOutputs(ctx context.Context, rows []runRow) error {
	for i := range rows {
		row := &rows[i]
		if row.OutputsSize == 0 || row.isLarge() {
			continue
		}
		row.Outputs = make(map[workflow.NodeID]json.RawMessage)
		err := s.EachRow(ctx, "read outputs", func(found *sql.Rows) error {
			var node string
			var output []byte
			if err := found.Scan(&node, &output); err != nil {
				return err
			}
			row.Outputs[workflow.NodeID(node)] = output
			return nil
		}, `SELECT node_id, output FROM run_outputs WHERE tenant_id = $1 AND run_id = $2`, row.Tenant, row.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// progress is what the run has done, with its large outputs.
func (row *runRow) progress() (run.Progress, error) {
	progress, err := run.DecodeProgress(row.Progress)
	if err != nil {
		return run.Progress{}, fmt.Errorf("run %s: %w", row.ID, err)
	}
	if node := progress.AddLargeOutputs(row.Outputs); node != "" {
		return run.Progress{}, fmt.Errorf("run %s: the output of node %q is gone", row.ID, node)
	}
	return progress, nil
}
