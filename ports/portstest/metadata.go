package portstest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// annotated are the records of one kind and tenant, which have metadata.
type annotated[T interface{ Metadata() domain.Metadata }] struct {
	create     func(context.Context, outbound.Stores, domain.MetadataPatch) (T, error)
	revise     func(T, domain.MetadataPatch) error
	list       func(context.Context, outbound.Stores, domain.MetadataFilter, domain.Query) (domain.Page[T], error)
	repository func(outbound.Stores) repository[T]
}

type repository[T any] interface {
	Insert(ctx context.Context, record T) error
	Update(ctx context.Context, record T) error
}

// Metadata is the contract of what every repository does with metadata.
func Metadata(t *testing.T, open OpenStore) {
	claims := make(map[string]func(f fixture))
	claimMetadata(claims, "tenants", annotatedTenants)
	claimMetadata(claims, "workflows", annotatedWorkflows)
	claimMetadata(claims, "versions", annotatedVersions)
	claimMetadata(claims, "triggers", annotatedTriggers)
	claimMetadata(claims, "sub-tenants", annotatedSubTenants)
	claimMetadata(claims, "custom nodes", annotatedNodes)
	claimMetadata(claims, "webhook endpoints", annotatedEndpoints)
	claimMetadata(claims, "connections", annotatedConnections)
	cases(t, open, claims)
}

func claimMetadata[T interface{ Metadata() domain.Metadata }](claims map[string]func(fixture), kind string, of func(f fixture, owner tenant.ID) annotated[T]) {
	claims["metadata of "+kind+" come back, change, and narrow lists"] = func(f fixture) { keepsMetadata(f, kind, of) }
}

func keepsMetadata[T interface{ Metadata() domain.Metadata }](f fixture, kind string, of func(f fixture, owner tenant.ID) annotated[T]) {
	odd := map[string]string{`odd "key" [é]`: `v<&>'%\ "`, "color": "red"}
	mine := of(f, f.tenant().ID())
	insert := func(a annotated[T], pairs map[string]string) {
		f.write(func(ctx context.Context, st outbound.Stores) error {
			record, err := a.create(ctx, st, domain.MetadataPatch{Pairs: pairs})
			if err != nil {
				return err
			}
			return a.repository(st).Insert(ctx, record)
		})
	}
	insert(mine, odd)
	insert(mine, map[string]string{"color": "red", "size": "L"})
	insert(mine, nil)
	if kind != "tenants" {
		insert(of(f, f.tenant().ID()), odd)
	}
	list := func(filter domain.MetadataFilter, limit int) (found domain.Page[T]) {
		f.Helper()
		f.read(func(ctx context.Context, st outbound.Stores) (err error) {
			found, err = mine.list(ctx, st, filter, f.query("-createdAt", limit, 0))
			return err
		})
		return found
	}
	want := func(filter domain.MetadataFilter, limit, total int, want ...string) {
		f.Helper()
		found := list(filter, limit)
		var got []string
		for _, record := range found.Items {
			got = append(got, record.Metadata().String())
		}
		if diff := cmp.Diff(want, got); diff != "" || found.Total != total {
			f.Errorf("%v: %d records, not %d: %s", filter, found.Total, total, diff)
		}
	}
	const oddText = `{"color":"red","odd \"key\" [é]":"v<&>'%\\ \""}`
	want(domain.MetadataFilter{"color": "red"}, 100, 2, `{"color":"red","size":"L"}`, oddText)
	want(domain.MetadataFilter{"color": "red"}, 1, 2, `{"color":"red","size":"L"}`)
	want(domain.MetadataFilter{"color": "red", "size": "L"}, 100, 1, `{"color":"red","size":"L"}`)
	want(odd, 100, 1, oddText)
	want(domain.MetadataFilter{"color": "RED"}, 100, 0)
	want(domain.MetadataFilter{"colo": "red"}, 100, 0)
	if kind != "tenants" { // of which there are more
		want(nil, 100, 3, `{}`, `{"color":"red","size":"L"}`, oddText)
	}

	record := list(domain.MetadataFilter{"size": "L"}, 100).Items[0]
	if err := mine.revise(record, domain.MetadataPatch{Pairs: map[string]string{"size": "", "color": "blue"}}); err != nil {
		f.Fatal(err)
	}
	f.write(func(ctx context.Context, st outbound.Stores) error { return mine.repository(st).Update(ctx, record) })
	want(domain.MetadataFilter{"color": "blue"}, 100, 1, `{"color":"blue"}`)
	want(domain.MetadataFilter{"color": "red"}, 100, 1, oddText)
}

func annotatedTenants(_ fixture, _ tenant.ID) annotated[*tenant.Tenant] {
	return annotated[*tenant.Tenant]{
		create: func(_ context.Context, _ outbound.Stores, p domain.MetadataPatch) (*tenant.Tenant, error) {
			return tenant.New(tenant.ID(newID("tenant")), tenant.Draft{Name: "Acme", Metadata: p}, noon)
		},
		revise: func(ten *tenant.Tenant, p domain.MetadataPatch) error {
			return ten.Revise(tenant.Patch{Metadata: p}, noon)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[*tenant.Tenant], error) {
			return st.Tenants.List(ctx, tenant.Filter{Metadata: m}, q)
		},
		repository: func(st outbound.Stores) repository[*tenant.Tenant] { return st.Tenants },
	}
}

func annotatedWorkflows(_ fixture, owner tenant.ID) annotated[*workflow.Workflow] {
	return annotated[*workflow.Workflow]{
		create: func(_ context.Context, _ outbound.Stores, p domain.MetadataPatch) (*workflow.Workflow, error) {
			return workflow.New(workflow.ID(newID("wf")), owner, "", workflow.Draft{Name: newID("name"), Metadata: p}, noon)
		},
		revise: func(wf *workflow.Workflow, p domain.MetadataPatch) error {
			return wf.Revise(workflow.Patch{Metadata: p}, noon)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[*workflow.Workflow], error) {
			return st.Workflows.List(ctx, tenant.All(owner), workflow.Filter{Metadata: m}, q)
		},
		repository: func(st outbound.Stores) repository[*workflow.Workflow] { return st.Workflows },
	}
}

func annotatedVersions(f fixture, owner tenant.ID) annotated[*workflow.Version] {
	wf := f.workflow(owner, "")
	return annotated[*workflow.Version]{
		create: func(ctx context.Context, st outbound.Stores, p domain.MetadataPatch) (*workflow.Version, error) {
			number, err := st.Workflows.NextVersion(ctx, tenant.All(owner), wf.ID())
			if err != nil {
				return nil, err
			}
			return workflow.NewVersion(workflow.VersionID(newID("wfv")), wf, number, workflow.VersionDraft{Metadata: p}, newEdgeID, noon)
		},
		revise: func(ver *workflow.Version, p domain.MetadataPatch) error {
			return ver.Edit(workflow.VersionPatch{Metadata: p}, newEdgeID)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[*workflow.Version], error) {
			return st.Versions.List(ctx, tenant.All(owner), workflow.VersionFilter{Workflow: wf.ID(), Metadata: m}, q)
		},
		repository: func(st outbound.Stores) repository[*workflow.Version] { return st.Versions },
	}
}

func annotatedTriggers(f fixture, owner tenant.ID) annotated[*trigger.Trigger] {
	ver := f.version(f.workflow(owner, ""))
	return annotated[*trigger.Trigger]{
		create: func(_ context.Context, _ outbound.Stores, p domain.MetadataPatch) (*trigger.Trigger, error) {
			draft := trigger.Draft{Version: ver.ID(), Name: "Orders", Type: trigger.Webhook, Config: &domain.Document{}, Metadata: p}
			return trigger.New(trigger.ID(newID("trg")), owner, trigger.References{VersionExists: true}, draft, noon)
		},
		revise: func(trg *trigger.Trigger, p domain.MetadataPatch) error {
			return trg.Revise(trigger.Patch{Metadata: p}, tenant.Settings{}, noon)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[*trigger.Trigger], error) {
			return st.Triggers.List(ctx, tenant.All(owner), trigger.Filter{Metadata: m}, q)
		},
		repository: func(st outbound.Stores) repository[*trigger.Trigger] { return st.Triggers },
	}
}

func annotatedSubTenants(_ fixture, owner tenant.ID) annotated[*tenant.SubTenant] {
	return annotated[*tenant.SubTenant]{
		create: func(_ context.Context, _ outbound.Stores, p domain.MetadataPatch) (*tenant.SubTenant, error) {
			draft := tenant.SubTenantDraft{SubTenant: tenant.SubTenantID(newID("sub")), Name: "Team", Metadata: p}
			return tenant.NewSubTenant(tenant.RegistrationID(newID("st")), owner, draft, noon)
		},
		revise: func(sub *tenant.SubTenant, p domain.MetadataPatch) error {
			return sub.Revise(tenant.SubTenantPatch{Metadata: p}, noon)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[*tenant.SubTenant], error) {
			return st.SubTenants.List(ctx, tenant.All(owner), tenant.SubTenantFilter{Metadata: m}, q)
		},
		repository: func(st outbound.Stores) repository[*tenant.SubTenant] { return st.SubTenants },
	}
}

func annotatedNodes(_ fixture, owner tenant.ID) annotated[*node.Custom] {
	return annotated[*node.Custom]{
		create: func(_ context.Context, _ outbound.Stores, p domain.MetadataPatch) (*node.Custom, error) {
			draft := node.CustomDraft{Type: newID("acme"), Name: "Enrich", Version: "1.0.0", Metadata: p}
			return node.NewCustom(node.CustomID(newID("cn")), owner, draft, noon)
		},
		revise: func(n *node.Custom, p domain.MetadataPatch) error {
			return n.Revise(node.CustomPatch{Metadata: p}, noon)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[*node.Custom], error) {
			return st.CustomNodes.List(ctx, tenant.All(owner), node.CustomFilter{Metadata: m}, q)
		},
		repository: func(st outbound.Stores) repository[*node.Custom] { return st.CustomNodes },
	}
}

func annotatedEndpoints(_ fixture, owner tenant.ID) annotated[*event.Endpoint] {
	return annotated[*event.Endpoint]{
		create: func(_ context.Context, _ outbound.Stores, p domain.MetadataPatch) (*event.Endpoint, error) {
			draft := event.EndpointDraft{URL: "https://example.com/hook", Metadata: p}
			return event.NewEndpoint(event.EndpointID(newID("whk")), owner, draft, nodeSecret, noon)
		},
		revise: func(e *event.Endpoint, p domain.MetadataPatch) error {
			return e.Revise(event.EndpointPatch{Metadata: p}, noon)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[*event.Endpoint], error) {
			return st.Webhooks.Endpoints.List(ctx, tenant.All(owner), event.EndpointFilter{Metadata: m}, q)
		},
		repository: func(st outbound.Stores) repository[*event.Endpoint] { return st.Webhooks.Endpoints },
	}
}
