package workflows

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

var _ inbound.Publishing = (*Versions)(nil)

// Publish makes a version the only active one of its workflow, if nothing stands against
// it.
func (s *Versions) Publish(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, asked trigger.PublishOptions) (published inbound.Published, err error) {
	if err = who.May(tenant.PublishVersion); err != nil {
		return published, err
	}
	if err = asked.Check(); err != nil {
		return published, err
	}
	return s.publish(ctx, who, idempotency, asked, id, nil)
}

// Rollback publishes the version that was active before. Which one that is, is read once: of
// two requests at the same time none undoes the other.
func (s *Versions) Rollback(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, of workflow.ID, asked trigger.PublishOptions) (published inbound.Published, err error) {
	if err = who.May(tenant.RollbackWorkflow); err != nil {
		return published, err
	}
	if err = asked.Check(); err != nil {
		return published, err
	}
	var previous workflow.VersionID
	failure := s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Workflows.Get(ctx, who.Scope, of); err != nil {
			return err
		}
		if previous, err = st.Activation.Previous(ctx, who.Scope, of); err == nil && previous == "" {
			err = domain.Fail(domain.Conflict, "no_previous_version",
				"No other version of the workflow was active before this one. Publish the version that is to be the active one.")
		}
		return err
	})
	return s.publish(ctx, who, idempotency, asked, previous, failure)
}

// publish publishes a version, or reports the failure that it was not found. The version is
// checked before the unit of work that publishes it, which others may have to wait for: a
// large graph takes half a second. A version that was changed in between is checked again, and
// so is one that does not get a trigger any more that it was checked with. The triggers and the
// events are part of the same unit.
func (s *Versions) publish(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, asked trigger.PublishOptions,
	id workflow.VersionID, notFound error) (published inbound.Published, err error) {
	now := s.clock.Now()
	err = s.reserved(ctx, who.Tenant(), func(reserve reserveFunc) error {
		return retryStale(func() error {
			published = inbound.Published{}
			wasActive, checked, failure := false, candidate{}, notFound
			if failure == nil {
				checked, failure = s.check(ctx, who, id, asked, reserve, workflow.Graph.Calls, func(ver *workflow.Version, env workflow.Environment) (err error) {
					wasActive = ver.Active()
					published.Warnings, err = ver.Publish(env, now)
					return err
				})
			}
			if isMemoryNeeded(failure) {
				return failure
			}
			return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
				if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
					return err
				}
				if failure != nil {
					return failure
				}
				if !wasActive {
					if published.Moved, published.Left, err = s.activate(ctx, st, who, checked, asked, now); err != nil {
						return err
					}
				}
				published.CheckedVersion = checkAgainst(checked.registry, checked.version, who)
				return st.Idempotency.Record(ctx, who.Tenant(), idempotency, published, now)
			})
		})
	})
	return published, err
}

// activate stores a version as the active one, once all processes know its node types, and says
// what became of the triggers of the one before. The workflow is held first, so that of two
// versions that are published at the same time one becomes active after the other.
func (s *Versions) activate(ctx context.Context, st outbound.Stores, who tenant.Caller, checked candidate, asked trigger.PublishOptions, now time.Time) (moved []trigger.ID, left []trigger.LeftBehindTrigger, err error) {
	ver := checked.version
	wf, err := st.Workflows.Get(ctx, who.Scope, ver.Workflow())
	if err != nil {
		return nil, nil, err
	}
	h, err := handOver(ctx, st, who, ver, asked)
	if err != nil {
		return nil, nil, err
	}
	if !checked.stillGets(h.attached()) {
		return nil, nil, errStale
	}
	if err := st.Processes.Require(ctx, ver.Level()); err != nil {
		return nil, nil, err
	}
	if ver.GivesTokens(*checked.registry) {
		if _, err := st.Secrets.CanSeal(ctx); errors.Is(err, outbound.ErrKeyMissing) {
			return nil, nil, err // the key that tokens are made from is a secret at rest
		}
	}
	events := []*event.Event{event.NewWorkflowPublished(event.ID(s.random.ID(event.IDPrefix)), ver)}
	switch {
	case h.from == "":
	case h.why == "":
		moved, err = st.Activation.Move(ctx, who.Scope, h.from, ver.ID(), now)
	case wf.Active():
		err = st.Activation.MarkLeftBehind(ctx, who.Scope, h.from, now)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, trg := range h.left() {
		left = append(left, trigger.LeftBehindTrigger{ID: trg.ID(), Name: trg.Name(), Reason: h.why})
		if wf.Active() && trg.Active() {
			events = append(events, event.NewTriggerDisabled(event.ID(s.random.ID(event.IDPrefix)), trg, trigger.VersionNotActive, now))
		}
	}
	if err := st.Versions.Update(ctx, ver); err != nil {
		return nil, nil, err
	}
	return moved, left, st.Webhooks.Events.Append(ctx, events...)
}

// candidate is a version with what it was checked against.
type candidate struct {
	version  *workflow.Version
	registry *node.Registry
	triggers []workflow.AttachedTrigger
	called   map[workflow.ID]callee
}

// stillGets says whether a version gets all triggers that it was checked with. Another one
// besides is like one that is attached later, and what fires them was only warned of.
func (c candidate) stillGets(now []workflow.AttachedTrigger) bool {
	known := make(map[workflow.AttachedTrigger]bool, len(now))
	for _, trg := range now {
		trg.FiredBy = ""
		known[trg] = true
	}
	for _, trg := range c.triggers {
		trg.FiredBy = ""
		if !known[trg] {
			return false
		}
	}
	return true
}

// check reads a version and what it is checked against, and lets do check it once there
// is memory for that. calls says what it calls as far as that matters.
func (s *Versions) check(ctx context.Context, who tenant.Caller, id workflow.VersionID, asked trigger.PublishOptions, reserve reserveFunc,
	calls func(workflow.Graph) []workflow.ID, do func(*workflow.Version, workflow.Environment) error) (found candidate, err error) {
	var schemas []trigger.Config
	var need int64 // bytes of memory
	found.registry, err = s.registry(ctx, who, func(ctx context.Context, st outbound.Stores) (err error) {
		if found.version, err = st.Versions.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		h, err := handOver(ctx, st, who, found.version, asked)
		found.triggers, schemas = h.attached(), h.payloadSchemas()
		if err == nil {
			need = weightOfCheck(found.version.Graph()) + weightOfSchemas(schemas)
			found.called, err = calledBy(ctx, st, who.Scope, found.version, calls(found.version.Graph()), s.roomForCallees(need))
		}
		return err
	})
	if err == nil {
		for _, c := range found.called {
			need += c.weight
		}
		err = reserve(need)
	}
	if err != nil {
		return found, err
	}
	connections, err := s.connectionsOf(ctx, found.version, *found.registry)
	if err != nil {
		return found, err
	}
	env := workflow.Environment{Connections: connections, Registry: *found.registry, Expressions: s.expressions, Triggers: found.triggers, Payload: workflow.PayloadType(schemasOf(schemas)), Called: calleesOf(found.called)}
	var unread error // why a source could not be read
	if s.code != nil {
		env.CompileCode = func(source string) (problem string, at workflow.Place) {
			if unread == nil {
				problem, at, unread = s.code.Compile(ctx, who.Tenant(), source)
			}
			return problem, at
		}
	}
	err = do(found.version, env)
	return found, cmp.Or(unread, err)
}

// WithCode has the sources of code nodes read by a runner. It returns the service.
func (s *Versions) WithCode(runner outbound.CodeRunner) *Versions {
	s.code = runner
	return s
}

// handover is what becomes of triggers when a version becomes the active one.
type handover struct {
	own  []*trigger.Trigger       // of the version
	from workflow.VersionID       // the active one so far; empty for none, and for the version itself
	old  []*trigger.Trigger       // of the active one so far
	why  trigger.LeftBehindReason // those stay behind; empty where they move along
}

func handOver(ctx context.Context, st outbound.Stores, who tenant.Caller, ver *workflow.Version, asked trigger.PublishOptions) (h handover, err error) {
	if h.own, err = st.Triggers.OfVersion(ctx, who.Scope, ver.ID()); err != nil {
		return h, err
	}
	active, err := st.Firing.Version(ctx, who.Scope, ver.Workflow(), "")
	if err != nil || active.Version == "" || active.Version == ver.ID() {
		return h, err
	}
	h.from, h.why = active.Version, asked.WhyLeftBehind(who.Settings, len(h.own) > 0)
	h.old, err = st.Triggers.OfVersion(ctx, who.Scope, h.from)
	return h, err
}

// left are the triggers that stay behind.
func (h handover) left() []*trigger.Trigger {
	if h.why == "" {
		return nil
	}
	return h.old
}

// attached are the triggers that the version has when it is the active one.
func (h handover) attached() (all []workflow.AttachedTrigger) {
	add := func(triggers []*trigger.Trigger) {
		for _, trg := range triggers {
			all = append(all, workflow.AttachedTrigger{ID: string(trg.ID()), Name: trg.Name(), Type: string(trg.Type()), FiredBy: trg.FiredBy()})
		}
	}
	if add(h.own); h.why == "" {
		add(h.old)
	}
	return all
}

// maxPayloads is how many schemas of payloads are a choice.
const maxPayloads = 4

// payloadSchemas are the configurations that say what the triggers start runs with; none where
// one of them does not say.
func (h handover) payloadSchemas() []trigger.Config {
	if h.why == "" {
		return payloadSchemas(slices.Concat(h.own, h.old))
	}
	return payloadSchemas(h.own)
}

func payloadSchemas(of []*trigger.Trigger) (all []trigger.Config) {
	for _, trg := range of {
		if !trg.Config().HasPayloadSchema() || trg.Type() != trigger.Webhook || len(all) == maxPayloads {
			return nil
		}
		all = append(all, trg.Config())
	}
	return all
}

// maxStale is how often something is done again because a record was changed in between.
const maxStale = 4

// errStale is what a store reports of a record that was changed in between.
var errStale = domain.Fail(domain.Conflict, "stale_revision", "The triggers were changed by somebody else in the meantime. Try again.")

func retryStale(do func() error) (err error) {
	for range maxStale {
		var e *domain.Error
		if err = do(); !errors.As(err, &e) || e.Code != "stale_revision" {
			return err
		}
	}
	return err
}

// Validate returns what publishing a version would find. It writes nothing but
// the outcome that an idempotency key asks for.
func (s *Versions) Validate(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, asked trigger.PublishOptions) (found workflow.Report, err error) {
	if err = who.May(tenant.ValidateVersion); err != nil {
		return found, err
	}
	if err = asked.Check(); err != nil {
		return found, err
	}
	now := s.clock.Now()
	err = s.reserved(ctx, who.Tenant(), func(reserve reserveFunc) error {
		_, failure := s.check(ctx, who, id, asked, reserve, workflow.Graph.Calls, func(ver *workflow.Version, env workflow.Environment) error {
			found = workflow.Check(ver.Graph(), env)
			return nil
		})
		if isMemoryNeeded(failure) || !idempotency.Wanted() {
			return failure
		}
		return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
				return err
			}
			if failure != nil {
				return failure
			}
			return st.Idempotency.Record(ctx, who.Tenant(), idempotency, found, now)
		})
	})
	return found, err
}
