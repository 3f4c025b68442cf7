package portstest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// segment names one record of each kind that belongs to a sub-tenant, or to none.
type segment struct {
	sub      tenant.SubTenantID
	workflow workflow.ID
	version  workflow.VersionID
	trigger  trigger.ID
	run      run.ID
	dedupe   string
	sibling  tenant.RegistrationID
	endpoint event.EndpointID
	event    event.ID
	delivery event.DeliveryID
	conn     connection.ID
}

// absent names records that do not exist.
var absent = segment{"absent", "wf_absent", "wfv_absent", "trg_absent", "run_absent", "absent", "st_absent", "whk_absent", "evt_absent", "msg_absent", "conn_absent"}

// segment stores one record of each kind. No sub-tenant has no registration.
func (f webhooks) segment(owner tenant.ID, sub tenant.SubTenantID) segment {
	f.Helper()
	ver := f.published(owner, sub)
	trg := f.listening(ver, "paid")
	f.record(fire(trg, 0, trigger.Fired))
	r := f.started(owner, func(st *run.State) {
		st.SubTenant, st.Workflow, st.Version, st.Trigger = sub, ver.Workflow(), ver.ID(), trg.ID()
		st.TriggerType, st.Entity = trigger.Webhook, "e"
	})
	f.step(r, outbound.RunLease{}, awaits("paid"), asks("ask", "", 3))
	to := f.endpoint(owner, func(st *event.EndpointState) { st.SubTenant = sub })
	e := newEvent(owner, 0)
	st := e.State()
	st.SubTenant = sub
	f.append(event.Restore(st))
	s := segment{sub, ver.Workflow(), ver.ID(), trg.ID(), r.ID(), r.DedupeKey(), absent.sibling, to.ID(), e.ID(), f.delivery(to, e).ID(), f.connection(owner, func(st *connection.State) { st.SubTenant = sub }).ID()}
	if sub != "" {
		s.sibling = tenant.RegistrationID(newID("st"))
		registered, err := tenant.NewSubTenant(s.sibling, owner, tenant.SubTenantDraft{SubTenant: sub, Name: string(sub)}, noon)
		if err != nil {
			f.Fatal(err)
		}
		f.write(func(ctx context.Context, st outbound.Stores) error { return st.SubTenants.Insert(ctx, registered) })
	}
	return s
}

// scopeQuestion asks a repository for something of a segment, or changes it, and gives the
// answer in words.
type scopeQuestion func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error)

var managementQuestions = map[string]scopeQuestion{
	"Workflows.Get": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Workflows.Get(ctx, scope, of.workflow)
		return nil, err
	},
	"Workflows.NextVersion": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return st.Workflows.NextVersion(ctx, scope, of.workflow)
	},
	"Workflows.Delete": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return nil, st.Workflows.Delete(ctx, scope, of.workflow)
	},
	"Versions.Get": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Versions.Get(ctx, scope, of.version)
		return nil, err
	},
	"Versions.Belongs": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return st.Versions.Parent(ctx, scope, of.version)
	},
	"Versions.List": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		found, err := st.Versions.List(ctx, scope, workflow.VersionFilter{Workflow: of.workflow}, domain.Query{})
		return found.Total + len(found.Items), err
	},
	"Versions.Delete": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return nil, st.Versions.Delete(ctx, scope, of.version)
	},
	"Triggers.Get": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Triggers.Get(ctx, scope, of.trigger)
		return nil, err
	},
	"Triggers.OfVersion": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		found, err := st.Triggers.OfVersion(ctx, scope, of.version)
		return len(found), err
	},
	"Triggers.Delete": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return nil, st.Triggers.Delete(ctx, scope, of.trigger)
	},
	"Activation.Previous": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		if ver, err := st.Versions.Get(ctx, tenant.All(scope.Tenant()), of.version); err == nil {
			inactive := ver.State()
			inactive.Active = false
			if err := st.Versions.Update(ctx, workflow.RestoreVersion(inactive)); err != nil {
				return nil, err
			}
		}
		return st.Activation.Previous(ctx, scope, of.workflow)
	},
	"Activation.Move": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return st.Activation.Move(ctx, scope, of.version, of.version, noon)
	},
	"Activation.Leave": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		if err := st.Activation.MarkLeftBehind(ctx, scope, of.version, noon); err != nil {
			return nil, err
		}
		trg, err := st.Triggers.Get(ctx, tenant.All(scope.Tenant()), of.trigger)
		return err == nil && trg.LeftBehind(), nil
	},
	"Fires.List": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		found, err := st.Fires.List(ctx, scope, of.trigger, trigger.FireFilter{}, domain.Query{})
		return found.Total + len(found.Items), err
	},
}

var subTenantQuestions = map[string]scopeQuestion{
	"SubTenants.Get": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.SubTenants.Get(ctx, scope, of.sibling)
		return nil, err
	},
	"SubTenants.Find": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.SubTenants.Find(ctx, scope, of.sub)
		return nil, err
	},
	"SubTenants.Delete": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return nil, st.SubTenants.Delete(ctx, scope, of.sibling)
	},
}

var runQuestions = map[string]scopeQuestion{
	"Firing.Trigger": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Firing.Trigger(ctx, scope, of.trigger)
		return nil, err
	},
	"Firing.Each": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		found, err := st.Firing.Triggers(ctx, []outbound.TriggerKey{{Scope: scope, Trigger: of.trigger}})
		return len(found) == 1 && found[0].Trigger != nil, err
	},
	"Firing.Version": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Firing.Version(ctx, scope, of.workflow, "")
		return nil, err
	},
	"Firing.Version, named": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Firing.Version(ctx, scope, of.workflow, of.version)
		return nil, err
	},
	"Runs.Get": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Runs.Runs.Get(ctx, scope, of.run)
		return nil, err
	},
	"Runs.History": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		found, _, err := st.Runs.Runs.History(ctx, scope, of.run, 0)
		return len(found), err
	},
	"Runs.Awaiting, named": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		found, err := st.Runs.Runs.Awaiting(ctx, scope, outbound.AwaitingQuery{Entity: "e", Runs: []run.ID{of.run}, Limit: 9})
		return len(found), err
	},
	"Live.OfWorkflow": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		found, err := st.Runs.Overview.OfWorkflow(ctx, scope, of.workflow, 9)
		return len(found), err
	},
	"Live.Executes": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return st.Runs.Overview.Executes(ctx, scope, of.workflow, of.version)
	},
	"Live.StartedWith": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return st.Runs.Overview.StartedWith(ctx, scope, []trigger.ID{of.trigger}, of.dedupe, noon.Add(-outbound.DedupeRetention))
	},
	"Live.Seqs": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return st.Runs.Overview.Seqs(ctx, []outbound.RunKey{{Scope: scope, Run: of.run}})
	},
	"Families.Statuses": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return st.Runs.Families.Statuses(ctx, scope, []run.ID{of.run})
	},
	"Origins.Latest": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		id, _, err := st.Runs.Origins.Latest(ctx, scope, of.workflow, of.version)
		return id, err
	},
	"Origins.Of": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		outline, err := st.Runs.Origins.Of(ctx, scope, of.run)
		return outline.Source, err
	},
}

var webhookQuestions = map[string]scopeQuestion{
	"Connections.Get": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Connections.Get(ctx, scope, of.conn)
		return nil, err
	},
	"Connections.Delete": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return nil, st.Connections.Delete(ctx, scope, of.conn)
	},
	"Endpoints.Get": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Webhooks.Endpoints.Get(ctx, scope, of.endpoint)
		return nil, err
	},
	"Endpoints.Delete": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		return nil, st.Webhooks.Endpoints.Delete(ctx, scope, of.endpoint)
	},
	"Events.Get": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Webhooks.Events.Get(ctx, scope, of.event)
		return nil, err
	},
	"Deliveries.Get": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		_, err := st.Webhooks.Deliveries.Get(ctx, scope, of.delivery)
		return nil, err
	},
	"Deliveries.List": func(ctx context.Context, st outbound.Stores, scope tenant.Scope, of segment) (any, error) {
		found, err := st.Webhooks.Deliveries.List(ctx, scope, of.endpoint, event.DeliveryFilter{}, domain.Query{})
		return found.Total + len(found.Items), err
	},
}

// ask asks in a unit that leaves no trace.
func (f fixture) ask(q scopeQuestion, scope tenant.Scope, of segment) string {
	f.Helper()
	var answer any
	var failure error
	err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		answer, failure = q(ctx, st, scope, of)
		return errOnPurpose
	})
	if !errors.Is(err, errOnPurpose) || failure != nil && !errors.Is(failure, domain.NotFound) {
		f.Fatal(err, failure)
	}
	return fmt.Sprint(answer, " ", failure)
}

// Scopes is what the contract of every repository says of scopes.
func Scopes(t *testing.T, open OpenStore) {
	ofWorkflow := func(s segment) string { return string(s.workflow) }
	ofNone := func(segment) string { return "" }
	asks := func(questions map[string]scopeQuestion, workflowOf func(segment) string, subs ...tenant.SubTenantID) func(webhooks) {
		return func(f webhooks) {
			owner := f.tenant().ID()
			scopes := []tenant.Scope{tenant.All(owner), tenant.Only(owner, "a"), tenant.Only(owner, "b"), tenant.Only(owner, ""), tenant.All(f.tenant().ID()), {}}
			segments := make([]segment, len(subs))
			for i, sub := range subs {
				segments[i] = f.segment(owner, sub)
				narrow := []string{string(segments[i].workflow), "wf_absent"}
				scopes = append(scopes, tenant.Only(owner, "a").OfWorkflows(narrow), tenant.All(owner).OfWorkflows(narrow))
			}
			for name, question := range questions {
				for _, of := range segments {
					for _, scope := range scopes {
						answer, toAbsent := f.ask(question, scope, of), f.ask(question, scope, absent)
						if want := scope.Tenant() == owner && scope.Covers(of.sub, workflowOf(of)); (answer != toAbsent) != want {
							f.Errorf("%s of a record of %q within %+v answers %q, and of an absent one %q", name, of.sub, scope, answer, toAbsent)
						}
					}
				}
			}
		}
	}
	webhookCases(t, open, map[string]func(f webhooks){
		"a record that a scope does not cover is as if it did not exist":          asks(managementQuestions, ofWorkflow, "a", "b", ""),
		"a registration that a scope does not cover is as if it did not exist":    asks(subTenantQuestions, ofNone, "a", "b"),
		"a run that a scope does not cover is as if it did not exist":             asks(runQuestions, ofWorkflow, "a", "b", ""),
		"what is sent that a scope does not cover is as if it did not exist":      asks(webhookQuestions, ofNone, "a", "b", ""),
		"a list holds and counts what its scope covers":                           listsWithinScopes,
		"what was sent to an endpoint does not go with it to another sub-tenant":  movedEndpoint,
		"every scope reads the custom nodes, and only the whole tenant's deletes": customNodesWithinScopes,
	})
}
