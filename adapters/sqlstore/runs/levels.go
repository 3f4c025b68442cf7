package runs

import (
	"strconv"

	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/run"
)

// levelOf is the level that a row of a table with runs needs: that of its version, or the least
// one where that is greater.
func levelOf(table, least string) string {
	return `coalesce((SELECT CASE WHEN v.needs_level > ` + least + ` THEN v.needs_level ELSE ` + least + ` END FROM workflow_versions v
		WHERE v.tenant_id = ` + table + `.tenant_id AND v.id = ` + table + `.workflow_version_id), ` + least + `)`
}

// levelToBegin is what a process must have to begin the run, besides what its version needs:
// older ones would not look for a snapshot, execute anew what the run takes over, not wake the run
// that started it, and know one engine only.
func (s repository) levelToBegin(r *run.Run) int {
	if r.Source().Snapshot == "" && !r.TakesOver() && r.Parent() == "" && r.BeginsOn(s.store.Begins) == run.EngineTable {
		return 0
	}
	return int(process.SecondRelease)
}

// levelToGoOn is the same of a run of a table that has begun.
func levelToGoOn(table string) string {
	return `CASE WHEN ` + table + `.snapshot_id IS NULL AND ` + table + `.parent_run_id = '' AND ` + table + `.engine = 'table' THEN 0 ELSE ` + strconv.Itoa(int(process.SecondRelease)) + ` END`
}
