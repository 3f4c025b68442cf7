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

// annotated is a record that has metadata.
type annotated struct {
	metadata domain.Metadata
	revise   func(domain.MetadataPatch) error
	update   func(context.Context, outbound.Stores) error
}

// annotations are the records of one kind and tenant.
type annotations struct {
	insert func(context.Context, outbound.Stores, domain.MetadataPatch) error
	list   func(context.Context, outbound.Stores, domain.MetadataFilter, domain.Query) (domain.Page[annotated], error)
}

func annotatedPage[T any](found domain.Page[T], err error, of func(T) annotated) (domain.Page[annotated], error) {
	page := domain.Page[annotated]{Total: found.Total, Limit: found.Limit, Offset: found.Offset}
	for _, record := range found.Items {
		page.Items = append(page.Items, of(record))
	}
	return page, err
}

// Metadata is the contract of what every repository does with metadata.
func Metadata(t *testing.T, open OpenStore) {
	claims := make(map[string]func(f fixture))
	for kind, of := range map[string]func(f fixture, owner tenant.ID) annotations{
		"tenants": annotatedTenants, "workflows": annotatedWorkflows, "versions": annotatedVersions, "triggers": annotatedTriggers,
		"sub-tenants": annotatedSubTenants, "custom nodes": annotatedNodes, "webhook endpoints": annotatedEndpoints,
	} {
		claims["metadata of "+kind+" come back, change, and narrow lists"] = func(f fixture) { f.keepsMetadata(kind, of) }
	}
	cases(t, open, claims)
}

func (f fixture) keepsMetadata(kind string, of func(f fixture, owner tenant.ID) annotations) {
	odd := map[string]string{`odd "key" [é]`: `v<&>'%\ "`, "color": "red"}
	mine := of(f, f.tenant().ID())
	insert := func(a annotations, pairs map[string]string) {
		f.write(func(ctx context.Context, st outbound.Stores) error {
			return a.insert(ctx, st, domain.MetadataPatch{Pairs: pairs})
		})
	}
	insert(mine, odd)
	insert(mine, map[string]string{"color": "red", "size": "L"})
	insert(mine, nil)
	if kind != "tenants" {
		insert(of(f, f.tenant().ID()), odd)
	}
	list := func(filter domain.MetadataFilter, limit int) (found domain.Page[annotated]) {
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
			got = append(got, record.metadata.String())
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
	if err := record.revise(domain.MetadataPatch{Pairs: map[string]string{"size": "", "color": "blue"}}); err != nil {
		f.Fatal(err)
	}
	f.write(record.update)
	want(domain.MetadataFilter{"color": "blue"}, 100, 1, `{"color":"blue"}`)
	want(domain.MetadataFilter{"color": "red"}, 100, 1, oddText)
}

func annotatedTenants(fixture, tenant.ID) annotations {
	return annotations{
		insert: func(ctx context.Context, st outbound.Stores, p domain.MetadataPatch) error {
			ten, err := tenant.NewFrom(tenant.ID(newID("tenant")), tenant.Draft{Name: "Acme", Metadata: p}, noon)
			if err != nil {
				return err
			}
			return st.Tenants.Insert(ctx, ten)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[annotated], error) {
			found, err := st.Tenants.List(ctx, tenant.Filter{Metadata: m}, q)
			return annotatedPage(found, err, func(ten *tenant.Tenant) annotated {
				return annotated{
					ten.Metadata(), func(p domain.MetadataPatch) error { return ten.Revise(tenant.Patch{Metadata: p}, noon) },
					func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, ten) },
				}
			})
		},
	}
}

func annotatedWorkflows(_ fixture, owner tenant.ID) annotations {
	return annotations{
		insert: func(ctx context.Context, st outbound.Stores, p domain.MetadataPatch) error {
			wf, err := workflow.New(workflow.ID(newID("wf")), owner, "", workflow.Draft{Name: newID("name"), Metadata: p}, noon)
			if err != nil {
				return err
			}
			return st.Workflows.Insert(ctx, wf)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[annotated], error) {
			found, err := st.Workflows.List(ctx, tenant.All(owner), workflow.Filter{Metadata: m}, q)
			return annotatedPage(found, err, func(wf *workflow.Workflow) annotated {
				return annotated{
					wf.Metadata(), func(p domain.MetadataPatch) error { return wf.Revise(workflow.Patch{Metadata: p}, noon) },
					func(ctx context.Context, st outbound.Stores) error { return st.Workflows.Update(ctx, wf) },
				}
			})
		},
	}
}

func annotatedVersions(f fixture, owner tenant.ID) annotations {
	wf := f.workflow(owner, "")
	return annotations{
		insert: func(ctx context.Context, st outbound.Stores, p domain.MetadataPatch) error {
			number, err := st.Workflows.NextVersion(ctx, tenant.All(owner), wf.ID())
			if err != nil {
				return err
			}
			ver, err := workflow.NewVersion(workflow.VersionID(newID("wfv")), wf, number, workflow.VersionDraft{Metadata: p}, newEdgeID, noon)
			if err != nil {
				return err
			}
			return st.Versions.Insert(ctx, ver)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[annotated], error) {
			found, err := st.Versions.List(ctx, tenant.All(owner), workflow.VersionFilter{Workflow: wf.ID(), Metadata: m}, q)
			return annotatedPage(found, err, func(ver *workflow.Version) annotated {
				return annotated{
					ver.Metadata(), func(p domain.MetadataPatch) error { return ver.Edit(workflow.VersionPatch{Metadata: p}, newEdgeID) },
					func(ctx context.Context, st outbound.Stores) error { return st.Versions.Update(ctx, ver) },
				}
			})
		},
	}
}

func annotatedTriggers(f fixture, owner tenant.ID) annotations {
	ver := f.version(f.workflow(owner, ""))
	return annotations{
		insert: func(ctx context.Context, st outbound.Stores, p domain.MetadataPatch) error {
			draft := trigger.Draft{Version: ver.ID(), Name: "Orders", Type: trigger.Webhook, Config: &domain.Document{}, Metadata: p}
			trg, err := trigger.New(trigger.ID(newID("trg")), owner, trigger.Surroundings{VersionExists: true}, draft, noon)
			if err != nil {
				return err
			}
			return st.Triggers.Insert(ctx, trg)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[annotated], error) {
			found, err := st.Triggers.List(ctx, tenant.All(owner), trigger.Filter{Metadata: m}, q)
			return annotatedPage(found, err, func(trg *trigger.Trigger) annotated {
				return annotated{
					trg.Metadata(), func(p domain.MetadataPatch) error {
						return trg.Revise(trigger.Patch{Metadata: p}, tenant.Settings{}, noon)
					},
					func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Update(ctx, trg) },
				}
			})
		},
	}
}

func annotatedSubTenants(_ fixture, owner tenant.ID) annotations {
	return annotations{
		insert: func(ctx context.Context, st outbound.Stores, p domain.MetadataPatch) error {
			draft := tenant.SubTenantDraft{SubTenant: tenant.SubTenantID(newID("sub")), Name: "Team", Metadata: p}
			sub, err := tenant.NewSubTenant(tenant.RegistrationID(newID("st")), owner, draft, noon)
			if err != nil {
				return err
			}
			return st.SubTenants.Insert(ctx, sub)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[annotated], error) {
			found, err := st.SubTenants.List(ctx, tenant.All(owner), tenant.SubTenantFilter{Metadata: m}, q)
			return annotatedPage(found, err, func(sub *tenant.SubTenant) annotated {
				return annotated{
					sub.Metadata(), func(p domain.MetadataPatch) error { return sub.Revise(tenant.SubTenantPatch{Metadata: p}, noon) },
					func(ctx context.Context, st outbound.Stores) error { return st.SubTenants.Update(ctx, sub) },
				}
			})
		},
	}
}

func annotatedNodes(_ fixture, owner tenant.ID) annotations {
	return annotations{
		insert: func(ctx context.Context, st outbound.Stores, p domain.MetadataPatch) error {
			draft := node.CustomDraft{Type: newID("acme"), Name: "Enrich", Version: "1.0.0", Metadata: p}
			n, err := node.NewCustom(node.CustomID(newID("cn")), owner, draft, noon)
			if err != nil {
				return err
			}
			return st.CustomNodes.Insert(ctx, n)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[annotated], error) {
			found, err := st.CustomNodes.List(ctx, tenant.All(owner), node.CustomFilter{Metadata: m}, q)
			return annotatedPage(found, err, func(n *node.Custom) annotated {
				return annotated{
					n.Metadata(), func(p domain.MetadataPatch) error { return n.Revise(node.CustomPatch{Metadata: p}, noon) },
					func(ctx context.Context, st outbound.Stores) error { return st.CustomNodes.Update(ctx, n) },
				}
			})
		},
	}
}

func annotatedEndpoints(_ fixture, owner tenant.ID) annotations {
	return annotations{
		insert: func(ctx context.Context, st outbound.Stores, p domain.MetadataPatch) error {
			draft := event.EndpointDraft{URL: "https://example.com/hook", Metadata: p}
			e, err := event.NewEndpoint(event.EndpointID(newID("whk")), owner, draft, nodeSecret, noon)
			if err != nil {
				return err
			}
			return st.Webhooks.Endpoints.Insert(ctx, e)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[annotated], error) {
			found, err := st.Webhooks.Endpoints.List(ctx, tenant.All(owner), event.EndpointFilter{Metadata: m}, q)
			return annotatedPage(found, err, func(e *event.Endpoint) annotated {
				return annotated{
					e.Metadata(), func(p domain.MetadataPatch) error { return e.Revise(event.EndpointPatch{Metadata: p}, noon) },
					func(ctx context.Context, st outbound.Stores) error { return st.Webhooks.Endpoints.Update(ctx, e) },
				}
			})
		},
	}
}
