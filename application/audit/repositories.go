package audit

import (
	"context"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// around puts the recorder in front of what people change.
func (r *recorder) around(st outbound.Stores) outbound.Stores {
	st.Tenants = tenants{st.Tenants, r}
	st.APIKeys = apiKeys{st.APIKeys, r}
	st.EmbedTokens = embedTokens{st.EmbedTokens, r}
	st.SubTenants = subTenants{st.SubTenants, r}
	st.Workflows = workflows{st.Workflows, r}
	st.Versions = versions{st.Versions, r}
	st.Triggers = triggers{st.Triggers, r}
	st.Activation = activation{st.Activation, r, st.Audit.Log}
	st.Hooks.Hooks = hooks{st.Hooks.Hooks, r}
	st.CustomNodes = customNodes{st.CustomNodes, r}
	st.NodeSecrets = nodeSecrets{st.NodeSecrets, r}
	st.Connections = connections{st.Connections, r}
	st.Consents = consents{st.Consents, r}
	st.Grants = grants{st.Grants, r}
	st.Webhooks.Endpoints = endpoints{st.Webhooks.Endpoints, r}
	st.Members.Users = users{st.Members.Users, r}
	st.Members.Memberships = memberships{st.Members.Memberships, r}
	st.Members.Sessions = sessions{st.Members.Sessions, r}
	st.Members.Links = links{st.Members.Links, r}
	st.Runs.Jobs = jobs{st.Runs.Jobs, r}
	st.Erasures = erasures{st.Erasures, r}
	st.Secrets = secrets{st.Secrets, r}
	st.Idempotency = outcomes{st.Idempotency, r}
	return st
}

type tenants struct {
	outbound.TenantRepository
	*recorder
}

// Insert adds the record and records it.
func (s tenants) Insert(ctx context.Context, t *tenant.Tenant) error {
	return s.made(operators, tenantKind, string(t.ID()), t, s.TenantRepository.Insert(ctx, t))
}

// Update writes the record and records what changes.
func (s tenants) Update(ctx context.Context, t *tenant.Tenant) error {
	return changed(s.recorder, t.ID(), tenantKind, string(t.ID()), t, func() (*tenant.Tenant, error) { return s.Get(ctx, t.ID()) }, func() error { return s.TenantRepository.Update(ctx, t) })
}

const tenantKind = "tenant"

// Delete removes the record and records what it was.
func (s tenants) Delete(ctx context.Context, id tenant.ID) error {
	return removed(s.recorder, operators, tenantKind, string(id), func() (*tenant.Tenant, error) { return s.Get(ctx, id) }, func() error { return s.TenantRepository.Delete(ctx, id) })
}

type apiKeys struct {
	outbound.APIKeyRepository
	*recorder
}

func kindOfKey(k *tenant.APIKey) string {
	if k.Type() == tenant.Embed {
		return "embedToken"
	}
	return "apiKey"
}

// Insert adds the record and records it.
func (s apiKeys) Insert(ctx context.Context, k *tenant.APIKey) error {
	return s.made(k.Tenant(), kindOfKey(k), string(k.ID()), k, s.APIKeyRepository.Insert(ctx, k))
}

// Update writes the record and records what changes.
func (s apiKeys) Update(ctx context.Context, k *tenant.APIKey) error {
	return changed(s.recorder, k.Tenant(), kindOfKey(k), string(k.ID()), k,
		func() (*tenant.APIKey, error) { return s.Get(ctx, k.Tenant(), k.ID()) }, func() error { return s.APIKeyRepository.Update(ctx, k) })
}

type embedTokens struct {
	outbound.EmbedTokenRepository
	*recorder
}

// revocation is what a filter of embed tokens came to.
type revocation struct {
	SubTenant *tenant.SubTenantID `fact:"subTenantId"`
	Subject   *string
	Revoked   int
}

// Facts are what the audit log says of it.
func (r revocation) Facts() domain.Facts { return domain.FactsOf(r) }

// RevokeAll revokes tokens and records how many.
func (s embedTokens) RevokeAll(ctx context.Context, owner tenant.ID, f tenant.EmbedTokenFilter, at time.Time) (int, error) {
	n, err := s.EmbedTokenRepository.RevokeAll(ctx, owner, f, at)
	return n, s.made(owner, "embedTokens", "", revocation{f.SubTenant, f.Subject, n}, err)
}

type subTenants struct {
	outbound.SubTenantRepository
	*recorder
}

// Insert adds the record and records it.
func (s subTenants) Insert(ctx context.Context, sub *tenant.SubTenant) error {
	return s.made(sub.Tenant(), "subTenant", string(sub.ID()), sub, s.SubTenantRepository.Insert(ctx, sub))
}

// Update writes the record and records what changes.
func (s subTenants) Update(ctx context.Context, sub *tenant.SubTenant) error {
	return changed(s.recorder, sub.Tenant(), "subTenant", string(sub.ID()), sub,
		func() (*tenant.SubTenant, error) { return s.Get(ctx, tenant.All(sub.Tenant()), sub.ID()) }, func() error { return s.SubTenantRepository.Update(ctx, sub) })
}

// Delete removes the record and records what it was.
func (s subTenants) Delete(ctx context.Context, scope tenant.Scope, id tenant.RegistrationID) error {
	return removed(s.recorder, scope.Tenant(), "subTenant", string(id),
		func() (*tenant.SubTenant, error) { return s.Get(ctx, scope, id) }, func() error { return s.SubTenantRepository.Delete(ctx, scope, id) })
}

type workflows struct {
	outbound.WorkflowRepository
	*recorder
}

// Insert adds the record and records it.
func (s workflows) Insert(ctx context.Context, wf *workflow.Workflow) error {
	return s.made(wf.Tenant(), "workflow", string(wf.ID()), wf, s.WorkflowRepository.Insert(ctx, wf))
}

// Update writes the record and records what changes.
func (s workflows) Update(ctx context.Context, wf *workflow.Workflow) error {
	return changed(s.recorder, wf.Tenant(), "workflow", string(wf.ID()), wf,
		func() (*workflow.Workflow, error) { return s.Get(ctx, tenant.All(wf.Tenant()), wf.ID()) }, func() error { return s.WorkflowRepository.Update(ctx, wf) })
}

// Delete removes the record and records what it was.
func (s workflows) Delete(ctx context.Context, scope tenant.Scope, id workflow.ID) error {
	return removed(s.recorder, scope.Tenant(), "workflow", string(id),
		func() (*workflow.Workflow, error) { return s.Get(ctx, scope, id) }, func() error { return s.WorkflowRepository.Delete(ctx, scope, id) })
}

type versions struct {
	outbound.VersionRepository
	*recorder
}

// Insert adds the record and records it.
func (s versions) Insert(ctx context.Context, ver *workflow.Version) error {
	return s.made(ver.Tenant(), "workflowVersion", string(ver.ID()), ver, s.VersionRepository.Insert(ctx, ver))
}

// Update writes the record and records what changes.
func (s versions) Update(ctx context.Context, ver *workflow.Version) error {
	return changed(s.recorder, ver.Tenant(), "workflowVersion", string(ver.ID()), ver,
		func() (*workflow.Version, error) { return s.Get(ctx, tenant.All(ver.Tenant()), ver.ID()) }, func() error { return s.VersionRepository.Update(ctx, ver) })
}

// Delete removes the record and records what it was.
func (s versions) Delete(ctx context.Context, scope tenant.Scope, id workflow.VersionID) error {
	return removed(s.recorder, scope.Tenant(), "workflowVersion", string(id),
		func() (*workflow.Version, error) { return s.Get(ctx, scope, id) }, func() error { return s.VersionRepository.Delete(ctx, scope, id) })
}

type triggers struct {
	outbound.TriggerRepository
	*recorder
}

// Insert adds the record and records it.
func (s triggers) Insert(ctx context.Context, trg *trigger.Trigger) error {
	return s.made(trg.Tenant(), triggerKind, string(trg.ID()), trg, s.TriggerRepository.Insert(ctx, trg))
}

const triggerKind = "trigger"

// Update writes the record and records what changes.
func (s triggers) Update(ctx context.Context, trg *trigger.Trigger) error {
	return changed(s.recorder, trg.Tenant(), triggerKind, string(trg.ID()), trg,
		func() (*trigger.Trigger, error) { return s.Get(ctx, tenant.All(trg.Tenant()), trg.ID()) }, func() error { return s.TriggerRepository.Update(ctx, trg) })
}

// Delete removes the record and records what it was.
func (s triggers) Delete(ctx context.Context, scope tenant.Scope, id trigger.ID) error {
	return removed(s.recorder, scope.Tenant(), triggerKind, string(id),
		func() (*trigger.Trigger, error) { return s.Get(ctx, scope, id) }, func() error { return s.TriggerRepository.Delete(ctx, scope, id) })
}

type activation struct {
	outbound.ActivationRepository
	*recorder
	log outbound.AuditLog
}

// attachment is what changes of a trigger that is moved.
type attachment struct {
	Version workflow.VersionID `fact:"workflowVersionId"`
}

// Facts are what the audit log says of it.
func (a attachment) Facts() domain.Facts { return domain.FactsOf(a) }

// Move moves triggers and records each of them. There may be many, and so some entries are written at a time.
func (s activation) Move(ctx context.Context, scope tenant.Scope, from, to workflow.VersionID, now time.Time) ([]trigger.ID, error) {
	moved, err := s.ActivationRepository.Move(ctx, scope, from, to, now)
	if err != nil {
		return nil, err
	}
	before, after := attachment{from}.Facts(), attachment{to}.Facts()
	for some := range slices.Chunk(moved, batch) {
		var entries []audit.Entry
		for _, id := range some {
			entries = append(entries, s.entriesOf(change{log: scope.Tenant(), on: audit.Target{Kind: triggerKind, ID: string(id)}, before: before, after: after})...)
		}
		if err := s.log.Append(ctx, entries...); err != nil {
			return nil, err
		}
	}
	return moved, nil
}

type hooks struct {
	outbound.HookRepository
	*recorder
}

// Insert adds the record and records it.
func (s hooks) Insert(ctx context.Context, h *hook.Hook) error {
	return s.made(h.Tenant(), "hook", string(h.Trigger()), h, s.HookRepository.Insert(ctx, h))
}

// Update writes the record and records what changes.
func (s hooks) Update(ctx context.Context, h *hook.Hook) error {
	return changed(s.recorder, h.Tenant(), "hook", string(h.Trigger()), h,
		func() (*hook.Hook, error) { return s.Get(ctx, tenant.All(h.Tenant()), h.Trigger()) }, func() error { return s.HookRepository.Update(ctx, h) })
}

// Delete removes the record and records what it was.
func (s hooks) Delete(ctx context.Context, scope tenant.Scope, of trigger.ID) error {
	return removed(s.recorder, scope.Tenant(), "hook", string(of), func() (*hook.Hook, error) { return s.Get(ctx, scope, of) }, func() error { return s.HookRepository.Delete(ctx, scope, of) })
}

type customNodes struct {
	outbound.CustomNodeRepository
	*recorder
}

// Insert adds the record and records it.
func (s customNodes) Insert(ctx context.Context, n *node.Custom) error {
	return s.made(n.Tenant(), "customNode", string(n.ID()), n, s.CustomNodeRepository.Insert(ctx, n))
}

// Update writes the record and records what changes.
func (s customNodes) Update(ctx context.Context, n *node.Custom) error {
	return changed(s.recorder, n.Tenant(), "customNode", string(n.ID()), n,
		func() (*node.Custom, error) { return s.Get(ctx, tenant.All(n.Tenant()), n.ID()) }, func() error { return s.CustomNodeRepository.Update(ctx, n) })
}

// Delete removes the record and records what it was.
func (s customNodes) Delete(ctx context.Context, scope tenant.Scope, id node.CustomID) error {
	return removed(s.recorder, scope.Tenant(), "customNode", string(id),
		func() (*node.Custom, error) { return s.Get(ctx, scope, id) }, func() error { return s.CustomNodeRepository.Delete(ctx, scope, id) })
}

type connections struct {
	outbound.ConnectionRepository
	*recorder
}

// Insert adds the record and records it.
func (s connections) Insert(ctx context.Context, c *connection.Connection) error {
	return s.made(c.Tenant(), connectionKind, string(c.ID()), c, s.ConnectionRepository.Insert(ctx, c))
}

const connectionKind = "connection"

// Update writes the record and records what changes.
func (s connections) Update(ctx context.Context, c *connection.Connection) error {
	return changed(s.recorder, c.Tenant(), connectionKind, string(c.ID()), c,
		func() (*connection.Connection, error) { return s.Get(ctx, tenant.All(c.Tenant()), c.ID()) }, func() error { return s.ConnectionRepository.Update(ctx, c) })
}

// Delete removes the record and records what it was.
func (s connections) Delete(ctx context.Context, scope tenant.Scope, id connection.ID) error {
	return removed(s.recorder, scope.Tenant(), connectionKind, string(id),
		func() (*connection.Connection, error) { return s.Get(ctx, scope, id) }, func() error { return s.ConnectionRepository.Delete(ctx, scope, id) })
}

type endpoints struct {
	outbound.EndpointRepository
	*recorder
}

// Insert adds the record and records it.
func (s endpoints) Insert(ctx context.Context, e *event.Endpoint) error {
	return s.made(e.Tenant(), "webhookEndpoint", string(e.ID()), e, s.EndpointRepository.Insert(ctx, e))
}

// Update writes the record and records what changes.
func (s endpoints) Update(ctx context.Context, e *event.Endpoint) error {
	return changed(s.recorder, e.Tenant(), "webhookEndpoint", string(e.ID()), e,
		func() (*event.Endpoint, error) { return s.Get(ctx, tenant.All(e.Tenant()), e.ID()) }, func() error { return s.EndpointRepository.Update(ctx, e) })
}

// Delete removes the record and records what it was.
func (s endpoints) Delete(ctx context.Context, scope tenant.Scope, id event.EndpointID) error {
	return removed(s.recorder, scope.Tenant(), "webhookEndpoint", string(id),
		func() (*event.Endpoint, error) { return s.Get(ctx, scope, id) }, func() error { return s.EndpointRepository.Delete(ctx, scope, id) })
}

type jobs struct {
	outbound.JobRepository
	*recorder
}

// Insert adds the record and records it.
func (s jobs) Insert(ctx context.Context, j *job.Job) error {
	return s.made(j.Tenant(), "job", string(j.ID()), j, s.JobRepository.Insert(ctx, j))
}

// Update writes the record and records what changes.
func (s jobs) Update(ctx context.Context, j *job.Job) error {
	return changed(s.recorder, j.Tenant(), "job", string(j.ID()), j,
		func() (*job.Job, error) { return s.Get(ctx, tenant.All(j.Tenant()), j.ID()) }, func() error { return s.JobRepository.Update(ctx, j) })
}

type erasures struct {
	outbound.ErasureRepository
	*recorder
}

// DeleteRuns removes runs and records which.
func (s erasures) DeleteRuns(ctx context.Context, owner tenant.ID, traces outbound.RunTraces, runs ...run.ID) (removed job.Removed, err error) {
	removed, err = s.ErasureRepository.DeleteRuns(ctx, owner, traces, runs...)
	for _, id := range runs {
		err = s.touched(owner, "run", string(id), err)
	}
	return removed, err
}

// outcomes are written last by every command.
type outcomes struct {
	outbound.IdempotencyRepository
	*recorder
}

// Record keeps the outcome, and records that somebody moved a run.
func (s outcomes) Record(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, outcome any, now time.Time) error {
	s.outcome(outcome)
	return s.IdempotencyRepository.Record(ctx, owner, idempotency, outcome, now)
}
