package portstest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// query asks for a page in an order such as "name", or "-name" for descending.
func (f fixture) query(order string, limit, offset int) domain.Query {
	f.Helper()
	page, err := domain.NewPageRequest(limit, offset)
	if err != nil {
		f.Fatal(err)
	}
	field, descending := strings.CutPrefix(order, "-")
	return domain.Query{PageRequest: page, Sorting: domain.Sorting{Field: field, Ascending: !descending && order != ""}}
}

// listWorkflows returns the names of a page, and the total.
func (f fixture) listWorkflows(owner tenant.ID, filter workflow.Filter, q domain.Query) (names string, total int) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Workflows.List(ctx, tenant.All(owner), filter, q)
		for _, wf := range found.Items {
			names += wf.Name() + " "
		}
		total = found.Total
		return err
	})
	return strings.TrimSpace(names), total
}

// library stores workflows to list: two tenants, names in several cases and scripts.
func (f fixture) library() tenant.ID {
	f.Helper()
	owner, other := f.tenant().ID(), f.tenant().ID()
	about := "Weekly 100%_report \\ for ÉLAN"
	for i, name := range []string{"b", "a", "B", "é", "Zeta"} {
		d := workflow.Draft{Name: name}
		sub := tenant.SubTenantID("")
		if i%2 == 0 {
			sub, d.Description = "team", &about
		}
		for _, ten := range []tenant.ID{owner, other} {
			wf, err := workflow.New(workflow.ID(newID("wf")), ten, sub, d, noon.Add(time.Duration(i/2)*time.Second))
			if err != nil {
				f.Fatal(err)
			}
			if name == "a" {
				wf.Toggle(noon.Add(time.Hour))
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Workflows.Insert(ctx, wf) })
		}
	}
	return owner
}

// WorkflowLists is the contract of outbound.WorkflowRepository.List, and stands for
// the lists of all repositories.
func WorkflowLists(t *testing.T, open OpenStore) {
	yes, no := true, false
	team, nobody := tenant.SubTenantID("team"), tenant.SubTenantID("nobody")
	cases(t, open, map[string]func(f fixture){
		"the order is the one asked for, ties by id in the same direction": func(f fixture) {
			owner := f.library()
			for order, want := range map[string]string{
				"": "Zeta é B a b", "createdAt": "b a B é Zeta", "-createdAt": "Zeta é B a b",
				"name": "B Zeta a b é", "-name": "é b a Zeta B", "updatedAt": "b B é Zeta a", "-updatedAt": "a Zeta é B b",
			} {
				if got, total := f.listWorkflows(owner, workflow.Filter{}, f.query(order, 100, 0)); got != want || total != 5 {
					f.Errorf("by %q: %s of %d, not %s", order, got, total, want)
				}
			}
		},
		"pages do not overlap and together are the whole": func(f fixture) {
			owner := f.library()
			for _, order := range []string{"createdAt", "-name"} {
				whole, _ := f.listWorkflows(owner, workflow.Filter{}, f.query(order, 100, 0))
				var pages []string
				for offset := range 6 {
					page, total := f.listWorkflows(owner, workflow.Filter{}, f.query(order, 1, offset))
					if total != 5 {
						f.Errorf("the total at %d is %d", offset, total)
					}
					pages = append(pages, page)
				}
				if got := strings.TrimSpace(strings.Join(pages, " ")); got != whole {
					f.Errorf("the pages by %s are %s, the whole is %s", order, got, whole)
				}
			}
		},
		"filters narrow the list and its total": func(f fixture) {
			owner := f.library()
			for _, c := range []struct {
				filter workflow.Filter
				want   string
			}{
				{workflow.Filter{Active: &no}, "a 1"}, {workflow.Filter{Active: &yes}, "b B é Zeta 4"},
				{workflow.Filter{SubTenant: &team}, "b B Zeta 3"}, {workflow.Filter{SubTenant: &nobody}, " 0"},
				{workflow.Filter{SubTenant: &team, Active: &yes, Search: "zet"}, "Zeta 1"},
				{workflow.Filter{SubTenant: &team, Active: &no}, " 0"},
			} {
				names, total := f.listWorkflows(owner, c.filter, f.query("createdAt", 100, 0))
				if got := fmt.Sprintf("%s %d", names, total); got != c.want {
					f.Errorf("%+v: %s, not %s", c.filter, got, c.want)
				}
			}
		},
		"the text filter looks for the term as it is, whatever its case": func(f fixture) {
			owner := f.library()
			for term, want := range map[string]string{
				"ZET": "Zeta", "É": "b B é Zeta", "é": "b B é Zeta", "élan": "b B Zeta", "100%_R": "b B Zeta",
				"100%r": "", "100_": "", `\ for`: "b B Zeta", `\\`: "", "%": "b B Zeta", "_": "b B Zeta", "zeta weekly": "", "'": "",
			} {
				if got, total := f.listWorkflows(owner, workflow.Filter{Search: term}, f.query("createdAt", 100, 0)); got != want || total != len(strings.Fields(want)) {
					f.Errorf("%q: %q of %d, not %q", term, got, total, want)
				}
			}
		},
		"the total follows every change in the transaction that makes it": func(f fixture) {
			owner := f.library()
			want := func(step string, all, active int) {
				f.Helper()
				_, gotAll := f.listWorkflows(owner, workflow.Filter{}, f.query("", 1, 0))
				_, gotActive := f.listWorkflows(owner, workflow.Filter{Active: &yes}, f.query("", 1, 0))
				if gotAll != all || gotActive != active {
					f.Errorf("%s: %d and %d active, not %d and %d", step, gotAll, gotActive, all, active)
				}
			}
			want("at first", 5, 4)
			wf := f.workflow(owner, "")
			want("after an insert", 6, 5)
			_ = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				if err := st.Workflows.Insert(ctx, f.newWorkflow(owner, "", "Undone")); err != nil {
					return err
				}
				return errOnPurpose
			})
			want("after an insert that was undone", 6, 5)
			wf.Toggle(noon)
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Workflows.Update(ctx, wf) })
			want("after one was made inactive", 6, 4)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Workflows.Delete(ctx, tenant.All(owner), wf.ID())
			})
			want("after it was deleted", 5, 4)
		},
		"deleting a workflow takes its versions and their triggers along": func(f fixture) {
			trg := f.trigger()
			ver, err := f.getVersion(trg.Tenant(), trg.Version())
			if err != nil {
				f.Fatal(err)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Workflows.Delete(ctx, tenant.All(trg.Tenant()), ver.Workflow())
			})
			_, err = f.getVersion(trg.Tenant(), trg.Version())
			f.wantError(err, domain.NotFound, "version_not_found")
			_, err = f.getTrigger(trg.Tenant(), trg.ID())
			f.wantError(err, domain.NotFound, "trigger_not_found")
			f.read(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.Triggers.List(ctx, tenant.All(trg.Tenant()), trigger.Filter{}, domain.Query{})
				if found.Total != 0 {
					f.Errorf("%d triggers are counted", found.Total)
				}
				return err
			})
		},
	})
}

func (f fixture) getVersion(owner tenant.ID, id workflow.VersionID) (ver *workflow.Version, err error) {
	err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		ver, err = st.Versions.Get(ctx, tenant.All(owner), id)
		return err
	})
	return ver, err
}

// OtherLists is the contract of the lists of versions, triggers and custom nodes,
// where it goes beyond that of workflows.
func OtherLists(t *testing.T, open OpenStore) {
	versionLists(t, open)
	triggerLists(t, open)
}

func versionLists(t *testing.T, open OpenStore) {
	yes := true
	cases(t, open, map[string]func(f fixture){
		"versions are listed by workflow, drafts before what was published": func(f fixture) {
			owner := f.tenant().ID()
			wf, another := f.workflow(owner, ""), f.workflow(owner, "")
			f.version(another)
			for i := range 3 {
				st := f.version(wf).State()
				if i != 1 {
					at := noon.Add(time.Duration(i) * time.Hour)
					st.PublishedAt, st.Active = &at, i == 2
					f.write(func(ctx context.Context, stores outbound.Stores) error {
						return stores.Versions.Update(ctx, workflow.RestoreVersion(st))
					})
				}
			}
			list := func(filter workflow.VersionFilter, order string) (numbers string) {
				filter.Workflow = wf.ID()
				f.read(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.Versions.List(ctx, tenant.All(owner), filter, f.query(order, 100, 0))
					for _, ver := range found.Items {
						numbers += fmt.Sprint(ver.Number())
					}
					numbers += fmt.Sprint(" of ", found.Total)
					return err
				})
				return numbers
			}
			for order, want := range map[string]string{
				"version": "123 of 3", "-version": "321 of 3", "publishedAt": "213 of 3", "-publishedAt": "312 of 3",
			} {
				if got := list(workflow.VersionFilter{}, order); got != want {
					f.Errorf("by %s: %s, not %s", order, got, want)
				}
			}
			if got := list(workflow.VersionFilter{Active: &yes}, "version"); got != "3 of 1" {
				f.Errorf("active: %s", got)
			}
		},
		"the pins of a version come back, change, and go": func(f fixture) {
			ver := f.version(f.workflow(f.tenant().ID(), ""))
			for revision, want := range []string{`{}`, `{"a":{"z":1,"é":"<&>'\\u2028"}}`, `{"a":null}`, `{}`} {
				if st := ver.State(); revision > 0 {
					st.Pins = workflow.RestorePins(want)
					ver = workflow.RestoreVersion(st)
					f.write(func(ctx context.Context, stores outbound.Stores) error { return stores.Versions.Update(ctx, ver) })
				}
				got, err := f.getVersion(ver.Tenant(), ver.ID())
				if err != nil || got.Pins().String() != want || got.Pins().Empty() != (want == `{}`) {
					f.Fatalf("the pins are %s, not %s: %v", got.Pins(), want, err)
				}
				f.read(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.Versions.List(ctx, tenant.All(ver.Tenant()), workflow.VersionFilter{Workflow: ver.Workflow()}, f.query("version", 100, 0))
					if err == nil && found.Items[0].Pins() != got.Pins() {
						f.Errorf("the list has the pins %s", found.Items[0].Pins())
					}
					return err
				})
			}
			inserted := ver.State()
			inserted.ID, inserted.Number, inserted.Pins = workflow.VersionID(newID("wfv")), 99, workflow.RestorePins(`{"b":2}`)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Versions.Insert(ctx, workflow.RestoreVersion(inserted))
			})
			if got, err := f.getVersion(inserted.Tenant, inserted.ID); err != nil || got.Pins() != inserted.Pins {
				f.Errorf("the pins of a new version are %s: %v", got.Pins(), err)
			}
		},
		"a workflow has one active version at the most": func(f fixture) {
			wf, other := f.workflow(f.tenant().ID(), ""), f.workflow(f.tenant().ID(), "")
			first, second, unrelated := f.version(wf).State(), f.version(wf).State(), f.version(other).State()
			for _, st := range []*workflow.VersionState{&first, &unrelated, &second} {
				st.Active, st.PublishedAt = true, &noon
				f.write(func(ctx context.Context, stores outbound.Stores) error {
					return stores.Versions.Update(ctx, workflow.RestoreVersion(*st))
				})
				st.Revision++
			}
			first.Active = false
			first.Revision++
			for _, want := range []workflow.VersionState{first, unrelated, second} {
				got, err := f.getVersion(want.Tenant, want.ID)
				if err != nil {
					f.Fatal(err)
				}
				if got.Active() != want.Active || got.Revision() != want.Revision {
					f.Errorf("version %d: active %v, revision %d", want.Number, got.Active(), got.Revision())
				}
			}
		},
		"deleting a version takes its triggers along": func(f fixture) {
			trg := f.trigger()
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Versions.Delete(ctx, tenant.All(trg.Tenant()), trg.Version())
			})
			_, err := f.getTrigger(trg.Tenant(), trg.ID())
			f.wantError(err, domain.NotFound, "trigger_not_found")
			err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return st.Versions.Delete(ctx, tenant.All(trg.Tenant()), trg.Version())
			})
			f.wantError(err, domain.NotFound, "version_not_found")
		},
	})
}

func triggerLists(t *testing.T, open OpenStore) {
	yes := true
	cases(t, open, map[string]func(f fixture){
		"triggers are narrowed by type, workflow, version, sub-tenant, activity and text": func(f fixture) {
			trg := f.trigger()
			ver, err := f.getVersion(trg.Tenant(), trg.Version())
			if err != nil {
				f.Fatal(err)
			}
			second := triggerState(ver)
			second.Type, second.Active, second.Name = trigger.Webhook, false, "Hook"
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Triggers.Insert(ctx, trigger.Restore(second))
			})
			f.trigger() // of another tenant
			sub, none, inactive := tenant.SubTenantID("team"), tenant.SubTenantID("none"), false
			for _, c := range []struct {
				filter trigger.Filter
				want   string
			}{
				{trigger.Filter{}, "Hook,Morgens früh 2"}, {trigger.Filter{Type: trigger.Webhook}, "Hook 1"},
				{trigger.Filter{Workflow: ver.Workflow()}, "Hook,Morgens früh 2"}, {trigger.Filter{Workflow: "wf_none"}, " 0"},
				{trigger.Filter{Version: ver.ID()}, "Hook,Morgens früh 2"}, {trigger.Filter{Version: "wfv_none"}, " 0"},
				{trigger.Filter{SubTenant: &sub}, "Hook,Morgens früh 2"}, {trigger.Filter{SubTenant: &none}, " 0"},
				{trigger.Filter{Active: &yes}, "Morgens früh 1"}, {trigger.Filter{Active: &inactive}, "Hook 1"},
				{trigger.Filter{Search: "FRÜH"}, "Morgens früh 1"},
			} {
				f.read(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.Triggers.List(ctx, tenant.All(trg.Tenant()), c.filter, f.query("name", 100, 0))
					names := make([]string, len(found.Items))
					for i, one := range found.Items {
						names[i] = one.Name()
					}
					if got := fmt.Sprint(strings.Join(names, ","), " ", found.Total); got != c.want {
						f.Errorf("%+v: %s, not %s", c.filter, got, c.want)
					}
					return err
				})
			}
			f.read(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.Triggers.OfVersion(ctx, tenant.All(trg.Tenant()), ver.ID())
				if len(found) != 2 || found[0].ID() != trg.ID() {
					f.Errorf("the version has %d triggers", len(found))
				}
				foreign, errForeign := st.Triggers.OfVersion(ctx, tenant.All(f.tenant().ID()), ver.ID())
				if len(foreign) != 0 || errForeign != nil {
					f.Errorf("another tenant sees %d, %v", len(foreign), errForeign)
				}
				return err
			})
		},
	})
}

// registerSubTenant registers a sub-tenant of the tenant.
func (f fixture) registerSubTenant(owner tenant.ID, segment tenant.SubTenantID, name string) (*tenant.SubTenant, error) {
	f.Helper()
	about := "about " + name
	sub, err := tenant.NewSubTenant(tenant.RegistrationID(newID("st")), owner, tenant.SubTenantDraft{SubTenant: segment, Name: name, Description: &about}, noon)
	if err != nil {
		f.Fatal(err)
	}
	return sub, f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.SubTenants.Insert(ctx, sub) })
}

// SubTenantRepository is the contract of outbound.SubTenantRepository and of
// outbound.SubTenantDirectory.
func SubTenantRepository(t *testing.T, open OpenStore) {
	registeredSubTenants(t, open)
	subTenantDirectory(t, open)
}

func registeredSubTenants(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back, by id and by identifier, to its tenant only": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			sub, err := f.registerSubTenant(owner, "Équipe 7", "Team")
			if err != nil {
				f.Fatal(err)
			}
			f.read(func(ctx context.Context, st outbound.Stores) error {
				byID, err := st.SubTenants.Get(ctx, tenant.All(owner), sub.ID())
				if err != nil {
					return err
				}
				found, err := st.SubTenants.Find(ctx, tenant.All(owner), "Équipe 7")
				if err != nil {
					return err
				}
				if diff := cmp.Diff(sub.State(), byID.State()) + cmp.Diff(sub.State(), found.State()); diff != "" {
					f.Error(diff)
				}
				_, err = st.SubTenants.Get(ctx, tenant.All(other), sub.ID())
				f.wantError(err, domain.NotFound, "sub_tenant_not_found")
				_, err = st.SubTenants.Find(ctx, tenant.All(other), "Équipe 7")
				f.wantError(err, domain.NotFound, "sub_tenant_not_found")
				return nil
			})
		},
		"an identifier is registered once in a tenant": func(f fixture) {
			owner := f.tenant().ID()
			for _, segment := range []tenant.SubTenantID{"a", "A"} {
				if _, err := f.registerSubTenant(owner, segment, "x"); err != nil {
					f.Errorf("%s: %v", segment, err)
				}
			}
			_, err := f.registerSubTenant(owner, "a", "y")
			f.wantError(err, domain.Conflict, "sub_tenant_exists")
			if _, err := f.registerSubTenant(f.tenant().ID(), "a", "y"); err != nil {
				f.Error(err)
			}
		},
		"an update changes what it should, and a stale one is refused": func(f fixture) {
			sub, err := f.registerSubTenant(f.tenant().ID(), "a", "Before")
			if err != nil {
				f.Fatal(err)
			}
			stale := tenant.RestoreSubTenant(sub.State())
			name := "After"
			if err := sub.Revise(tenant.SubTenantPatch{Name: &name, RemoveDescription: true}, noon.Add(time.Hour)); err != nil {
				f.Fatal(err)
			}
			update := func(sub *tenant.SubTenant) error {
				return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.SubTenants.Update(ctx, sub) })
			}
			if err := update(sub); err != nil {
				f.Fatal(err)
			}
			f.wantError(update(stale), domain.Conflict, "stale_revision")
			f.read(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.SubTenants.Get(ctx, tenant.All(sub.Tenant()), sub.ID())
				if err == nil {
					if diff := cmp.Diff(sub.State(), got.State()); diff != "" || got.Revision() != 2 {
						f.Errorf("revision %d: %s", got.Revision(), diff)
					}
				}
				return err
			})
		},
		"lists are searched, and deleting removes the registration only": func(f fixture) {
			owner := f.tenant().ID()
			sub, err := f.registerSubTenant(owner, "a", "Alpha")
			if err != nil {
				f.Fatal(err)
			}
			if _, err := f.registerSubTenant(owner, "b", "Beta"); err != nil {
				f.Fatal(err)
			}
			f.workflow(owner, "a")
			f.read(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.SubTenants.List(ctx, tenant.All(owner), tenant.SubTenantFilter{Search: "ALPHA"}, domain.Query{})
				if len(found.Items) != 1 || found.Total != 1 {
					f.Errorf("found %d of %d", len(found.Items), found.Total)
				}
				return err
			})
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.SubTenants.Delete(ctx, tenant.All(owner), sub.ID())
			})
			err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return st.SubTenants.Delete(ctx, tenant.All(owner), sub.ID())
			})
			f.wantError(err, domain.NotFound, "sub_tenant_not_found")
			if _, total := f.listWorkflows(owner, workflow.Filter{}, f.query("", 1, 0)); total != 1 {
				f.Errorf("%d workflows are left", total)
			}
		},
	})
}

func subTenantDirectory(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"the directory knows each once, registered or seen, in order": func(f fixture) {
			owner := f.tenant().ID()
			for _, segment := range []tenant.SubTenantID{"c", "a"} {
				if _, err := f.registerSubTenant(owner, segment, "Registered "+string(segment)); err != nil {
					f.Fatal(err)
				}
			}
			f.workflow(owner, "b")
			f.workflow(owner, "a")
			f.workflow(owner, "")
			f.workflow(f.tenant().ID(), "foreign")
			for _, segment := range []tenant.SubTenantID{"é", "", "b", "D", "é"} { // whose workflows may be gone
				f.started(owner, func(st *run.State) { st.SubTenant = segment })
			}
			f.started(f.tenant().ID(), func(st *run.State) { st.SubTenant = "foreign" })
			list := func(limit, offset int) (got string) {
				f.read(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.SubTenantDirectory.List(ctx, tenant.All(owner), nil, f.query("", limit, offset).PageRequest)
					for _, seen := range found.Items {
						got += string(seen.SubTenant)
						if seen.Registration != nil {
							got += "=" + seen.Registration.Name()
						}
						got += "; "
					}
					got += fmt.Sprint(found.Total)
					return err
				})
				return got
			}
			for want, page := range map[string][2]int{
				"D; a=Registered a; b; c=Registered c; é; 5": {100, 0}, "b; 5": {1, 2}, "5": {5, 5},
			} {
				if got := list(page[0], page[1]); got != want {
					f.Errorf("the page %v is %s, not %s", page, got, want)
				}
			}
		},
		"the directory is narrowed by the metadata of registrations": func(f fixture) {
			owner := f.tenant().ID()
			for _, of := range []tenant.ID{owner, f.tenant().ID()} {
				for i, segment := range []tenant.SubTenantID{"b", "a", "c"} {
					f.workflow(of, segment)
					pairs := map[string]string{"tier": []string{"gold", "gold", "silver"}[i], "name": string(segment)}
					sub, err := tenant.NewSubTenant(tenant.RegistrationID(newID("st")), of,
						tenant.SubTenantDraft{SubTenant: segment, Name: "Team", Metadata: domain.MetadataPatch{Pairs: pairs}}, noon)
					if err != nil {
						f.Fatal(err)
					}
					f.write(func(ctx context.Context, st outbound.Stores) error { return st.SubTenants.Insert(ctx, sub) })
				}
			}
			f.workflow(owner, "not registered")
			gold := domain.MetadataFilter{"tier": "gold"}
			for want, c := range map[string]struct {
				scope  tenant.Scope
				filter domain.MetadataFilter
				page   domain.PageRequest
			}{
				"a b of 2": {tenant.All(owner), gold, f.query("", 100, 0).PageRequest},
				"b of 2":   {tenant.All(owner), gold, f.query("", 1, 1).PageRequest},
				"a of 1":   {tenant.All(owner), domain.MetadataFilter{"tier": "gold", "name": "a"}, domain.PageRequest{}},
				"b of 1":   {tenant.Only(owner, "b"), gold, domain.PageRequest{}},
				"of 0":     {tenant.Only(owner, "c"), gold, domain.PageRequest{}},
			} {
				f.read(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.SubTenantDirectory.List(ctx, c.scope, c.filter, c.page)
					got := ""
					for _, seen := range found.Items {
						got += string(seen.SubTenant) + " "
						if seen.Registration == nil {
							f.Errorf("%s comes without its registration", seen.SubTenant)
						}
					}
					if got += fmt.Sprint("of ", found.Total); got != want {
						f.Errorf("found %s, not %s", got, want)
					}
					return err
				})
			}
		},
	})
}
