package portstest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// OpenStore opens an empty store with an up-to-date schema. It is closed when the
// test ends.
type OpenStore func(t *testing.T) outbound.UnitOfWork

// Stores runs the suites of the unit of work and of every repository in it. Each
// case gets a store of its own and runs in parallel.
func Stores(t *testing.T, open OpenStore) {
	t.Run("UnitOfWork", func(t *testing.T) { UnitOfWork(t, open) })
	t.Run("Tenants", func(t *testing.T) { TenantRepository(t, open) })
	t.Run("TenantLists", func(t *testing.T) { TenantLists(t, open) })
	t.Run("APIKeys", func(t *testing.T) { APIKeyRepository(t, open) })
	t.Run("Credentials", func(t *testing.T) { CredentialRepository(t, open) })
	t.Run("Workflows", func(t *testing.T) { WorkflowRepository(t, open) })
	t.Run("Versions", func(t *testing.T) { VersionRepository(t, open) })
	t.Run("Snapshots", func(t *testing.T) { SnapshotRepository(t, open) })
	t.Run("Triggers", func(t *testing.T) { TriggerRepository(t, open) })
	t.Run("Activation", func(t *testing.T) { ActivationRepository(t, open) })
	t.Run("Firing", func(t *testing.T) { FiringRepository(t, open) })
	t.Run("Schedules", func(t *testing.T) { ScheduleRepository(t, open) })
	t.Run("Fires", func(t *testing.T) { FireRepository(t, open) })
	t.Run("Hooks", func(t *testing.T) { HookStores(t, open) })
	t.Run("CustomNodes", func(t *testing.T) { CustomNodeRepository(t, open) })
	t.Run("NodeSecrets", func(t *testing.T) { NodeSecretRepository(t, open) })
	t.Run("Connections", func(t *testing.T) { ConnectionRepository(t, open) })
	t.Run("Grants", func(t *testing.T) { GrantRepository(t, open) })
	t.Run("Consents", func(t *testing.T) { ConsentRepository(t, open) })
	t.Run("NodeHealth", func(t *testing.T) { NodeHealthRepository(t, open) })
	t.Run("WorkflowLists", func(t *testing.T) { WorkflowLists(t, open) })
	t.Run("OtherLists", func(t *testing.T) { OtherLists(t, open) })
	t.Run("BoundedLists", func(t *testing.T) { BoundedLists(t, open) })
	t.Run("SubTenants", func(t *testing.T) { SubTenantRepository(t, open) })
	t.Run("Metadata", func(t *testing.T) { Metadata(t, open) })
	t.Run("Idempotency", func(t *testing.T) { IdempotencyRepository(t, open) })
	t.Run("OperatorIdempotency", func(t *testing.T) { OperatorIdempotencyRepository(t, open) })
	t.Run("Jobs", func(t *testing.T) { JobRepository(t, open) })
	t.Run("Erasures", func(t *testing.T) { ErasureRepository(t, open) })
	t.Run("Runs", func(t *testing.T) { RunStores(t, open) })
	t.Run("Members", func(t *testing.T) { Members(t, open) })
	t.Run("Scopes", func(t *testing.T) { Scopes(t, open) })
	t.Run("Audit", func(t *testing.T) { Audit(t, open) })
	t.Run("Usage", func(t *testing.T) { Usage(t, open) })
}

// noon is the instant of every fixture, to the millisecond.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 123_000_000, time.UTC)

// fixture is a store with what a case needs to talk to it.
type fixture struct {
	*testing.T
	work outbound.UnitOfWork
}

// cases runs each claim against a store of its own.
func cases(t *testing.T, open OpenStore, claims map[string]func(f fixture)) {
	t.Helper()
	for claim, check := range claims {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			check(fixture{t, open(t)})
		})
	}
}

// write runs fn in a unit that must commit.
func (f fixture) write(fn func(ctx context.Context, st outbound.Stores) error) {
	f.Helper()
	if err := f.work.Do(f.Context(), fn); err != nil {
		f.Fatalf("the unit did not commit: %v", err)
	}
}

// read runs fn in a unit that must succeed.
func (f fixture) read(fn func(ctx context.Context, st outbound.Stores) error) {
	f.Helper()
	if err := f.work.View(f.Context(), fn); err != nil {
		f.Fatalf("the view failed: %v", err)
	}
}

// wantError checks the kind and the code of an error.
func (f fixture) wantError(err error, kind domain.Kind, code string) {
	f.Helper()
	var e *domain.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) || e.Code != code {
		f.Errorf("the error is %v, not %s (%s)", err, code, kind)
	}
}

var serial atomic.Int64

// newID returns an identifier that no other case of this process has. They sort in
// the order they are made.
func newID(prefix string) string { return fmt.Sprintf("%s_%026d", prefix, serial.Add(1)) }

// tenant stores a new tenant.
func (f fixture) tenant() *tenant.Tenant {
	f.Helper()
	ten, err := tenant.New(tenant.ID(newID("tenant")), tenant.Draft{Name: "Acme"}, noon)
	if err != nil {
		f.Fatal(err)
	}
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) })
	return ten
}

// newKey makes a key of the tenant without storing it.
func (f fixture) newKey(owner tenant.ID, kt tenant.KeyType, expiresAt *time.Time) *tenant.APIKey {
	f.Helper()
	var entropy [tenant.KeyEntropy]byte
	copy(entropy[:], newID("")[1:])
	k, err := tenant.NewAPIKey(tenant.KeyID(newID("key")), owner, tenant.KeyDraft{Type: kt, Name: "deploy", ExpiresAt: expiresAt},
		tenant.NewKeyText(kt, entropy), noon)
	if err != nil {
		f.Fatal(err)
	}
	return k
}

// newWorkflow makes a workflow of the tenant without storing it.
func (f fixture) newWorkflow(owner tenant.ID, sub tenant.SubTenantID, name string) *workflow.Workflow {
	f.Helper()
	wf, err := workflow.New(workflow.ID(newID("wf")), owner, sub, workflow.Draft{Name: name}, noon)
	if err != nil {
		f.Fatal(err)
	}
	return wf
}

// workflow stores a new workflow.
func (f fixture) workflow(owner tenant.ID, sub tenant.SubTenantID) *workflow.Workflow {
	f.Helper()
	wf := f.newWorkflow(owner, sub, newID("name"))
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Workflows.Insert(ctx, wf) })
	return wf
}

// version stores a new version of a workflow.
func (f fixture) version(wf *workflow.Workflow) *workflow.Version {
	f.Helper()
	var ver *workflow.Version
	f.write(func(ctx context.Context, st outbound.Stores) error {
		number, err := st.Workflows.NextVersion(ctx, tenant.All(wf.Tenant()), wf.ID())
		if err != nil {
			return err
		}
		ver, err = workflow.NewVersion(workflow.VersionID(newID("wfv")), wf, number, versionDraft(), newEdgeID, noon)
		if err != nil {
			return err
		}
		return st.Versions.Insert(ctx, ver)
	})
	return ver
}

func newEdgeID() workflow.EdgeID { return workflow.EdgeID(newID("edge")) }

// versionDraft is a graph with every member of nodes and edges filled in.
func versionDraft() workflow.VersionDraft {
	about, condition, label, output, input := "why & <how>", "input.a > 1", "yes", "true", "value"
	return workflow.VersionDraft{
		Nodes: []workflow.NodeDraft{
			{
				ID: "a", Type: "condition", Version: "1.0.0", Name: "First", Description: &about,
				Config:       domain.RestoreDocument(`{"z":1.50,"a":"é <b>","condition":"input.a > 1"}`),
				InputSchema:  domain.RestoreDocument(`{"b":{"type":"string"}}`),
				OutputSchema: domain.RestoreDocument(`{"c":{"type":"number"}}`),
				Retry:        &workflow.RetryPolicy{MaxRetries: 2, Backoff: 250 * time.Millisecond, MaxBackoff: 90 * time.Second}, Timeout: new(1500 * time.Millisecond),
				Position: workflow.Position{X: -12.5, Y: 1e6},
			},
			{ID: "b", Type: "not known yet", Version: "", Name: ""},
			{ID: "c", Parent: "b", Type: "not known yet", Version: "", Name: "Within"},
		},
		Edges: []workflow.EdgeDraft{{
			SourceNodeID: "a", TargetNodeID: "b", Condition: &condition, Label: &label, SourceOutputKey: &output, TargetInputKey: &input,
		}},
	}
}
