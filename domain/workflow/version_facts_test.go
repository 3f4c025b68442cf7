package workflow_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestAGraphThatStaysIsNotHashedAgain(t *testing.T) {
	draw := func(config string) *workflow.Version {
		var all []workflow.Node
		for i := range 200 {
			all = append(all, workflow.Node{ID: workflow.NodeID(fmt.Sprint("n", i)), Type: "transform", Version: "1.0.0", Name: "N", Config: domain.RestoreDocument(config)})
		}
		return workflow.RestoreVersion(workflow.VersionState{ID: "wfv_1", Number: 1, Graph: workflow.RestoreGraph(all, nil)})
	}
	stored, same, other := draw(`{"expression":"1"}`), draw(`{"expression":"1"}`), draw(`{"expression":"2"}`)
	known := stored.Facts()
	texts := func(all domain.Facts) map[string]string {
		said := make(map[string]string)
		for name, one := range all {
			said[name] = one.String()
		}
		return said
	}
	for claim, ver := range map[string]*workflow.Version{"the same graph": same, "another graph": other} {
		if diff := cmp.Diff(texts(ver.Facts()), texts(ver.FactsSince(stored, known))); diff != "" {
			t.Error(claim, diff)
		}
	}
	whole, since := testing.AllocsPerRun(3, func() { same.Facts() }), testing.AllocsPerRun(3, func() { same.FactsSince(stored, known) })
	if since > whole/10 {
		t.Errorf("facts take %v allocations, and with those of before %v", whole, since)
	}
}
