package workflows

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

var _ inbound.Completions = (*Versions)(nil)

// WithValues has texts that somebody writes computed with sample data. It returns the service.
func (s *Versions) WithValues(compiler run.Compiler, budgets outbound.Budgets) *Versions {
	s.compiler, s.computing = compiler, execution.NewComputing(budgets)
	return s
}

// Complete finds what could stand at a place of a text. What is known of types is found first,
// then values, each within the memory that it takes.
func (s *Versions) Complete(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, call workflow.CompletionCall, sample *run.Sample) (done inbound.Completed, err error) {
	if err = who.May(tenant.CompleteVersion); err != nil {
		return done, err
	}
	now := s.clock.Now()
	var checked candidate
	err = s.reserved(ctx, who.Tenant(), func(reserve reserveFunc) (err error) {
		checked, err = s.check(ctx, who, id, trigger.PublishOptions{}, reserve, call.Calls, func(ver *workflow.Version, env workflow.Environment) (err error) {
			if done.Completion, err = workflow.Complete(ver.Graph(), env, call); err == nil && sample != nil {
				err = sample.Check("sample", ver.Graph())
			}
			return err
		})
		return err
	})
	if err == nil {
		done.Offers = done.Completion.Offers(typing.Any)
		err = s.try(ctx, who, checked, sample, &done, now)
	}
	if err != nil || !idempotency.Wanted() {
		return done, err
	}
	return done, s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, done, now)
	})
}

// try computes values with the sample, else with the latest run that the caller may read.
func (s *Versions) try(ctx context.Context, who tenant.Caller, of candidate, sample *run.Sample, done *inbound.Completed, now time.Time) error {
	if s.compiler == nil || !done.IsExpression() {
		return nil
	}
	var latest run.ID
	var size int64
	switch {
	case sample != nil:
		size = sample.Size()
	case who.May(tenant.ReadRuns) == nil:
		var err error
		if latest, size, err = s.latest(ctx, who.Scope, of.version); err != nil {
			return err
		}
	}
	pins := maps.Collect(of.version.Pinned())
	if sample == nil && latest == "" && len(pins) == 0 {
		return nil
	}
	size += run.Sample{Nodes: pins}.Size()
	var failure error
	waited := s.computing.DoLong(ctx, who.Tenant(), s.computing.Demand(size)+run.PlanDemand(of.version.Graph()), func() {
		data := &run.Sample{}
		if sample != nil {
			data = sample
		} else if latest != "" {
			if data, failure = s.read(ctx, who, latest); failure != nil {
				return
			}
		}
		data = data.Over(pins, sample != nil)
		plan := run.NewOutline(of.version.ID(), of.version.Graph(), of.registry)
		computed := values{Completed: done, trial: run.NewTrial(plan, of.version.Graph(), s.compiler, done.Node, done.OnEdge, *data, now, s.computing.StepBudget(0))}
		computed.compute()
	})
	return cmp.Or(waited, failure)
}

// latest finds the run that values are taken from; none where there is no run.
func (s *Versions) latest(ctx context.Context, scope tenant.Scope, ver *workflow.Version) (id run.ID, size int64, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		for _, version := range []workflow.VersionID{ver.ID(), ""} {
			id, size, err = st.Runs.Origins.Latest(ctx, scope, ver.Workflow(), version)
			if !errors.Is(err, domain.NotFound) {
				return err
			}
		}
		return nil
	})
	return id, size, err
}

// read reads a run as sample data, without the links to answers for who may not answer; one that has gone has none.
func (s *Versions) read(ctx context.Context, who tenant.Caller, id run.ID) (sample *run.Sample, err error) {
	sample = &run.Sample{}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, who.Scope, id)
		switch {
		case errors.Is(err, domain.NotFound):
			return nil
		case err != nil:
			return err
		case who.May(tenant.AnswerPause) != nil:
			r = r.WithoutLinks()
		}
		*sample = run.SampleOf(r)
		return nil
	})
	return sample, err
}

// values computes what a completion shows.
type values struct {
	*inbound.Completed
	trial *run.Trial
}

func (v values) compute() {
	v.Values = map[string]json.RawMessage{}
	source := v.Source
	source.Form = workflow.Expression
	if source.Text = v.Offers.Of; source.Text != "" {
		if of, problem := v.trial.Evaluate(source); problem == "" {
			v.Offers = v.Completion.Offers(workflow.SeenType(of))
			members, _ := of.(map[string]any)
			for _, o := range v.Offers.List {
				if value, known := members[o.Name]; known && (o.Kind == workflow.OfferMember || o.Kind == workflow.OfferNode) {
					v.keep(o.Name, value)
				}
			}
		}
	}
	for _, o := range v.Offers.List {
		if o.Kind == workflow.OfferVariable && o.Name != workflow.RootNodes && o.Name != workflow.RootRun {
			source.Text = o.Name
			if value, problem := v.trial.Evaluate(source); problem == "" {
				v.keep(o.Name, value)
			}
		}
	}
	if v.Checked.Problem != "" {
		return
	}
	var value any
	if value, v.Problem = v.trial.Evaluate(v.Source); v.Problem == "" {
		v.Value = v.trial.WriteValue(value)
		if v.IsLong = len(v.Value) > inbound.MaxComputedValue; v.IsLong {
			v.Value = nil
		}
	}
}

func (v values) keep(name string, value any) {
	if text := v.trial.WriteValue(value); text != nil && len(text) <= inbound.MaxOfferedValue {
		v.Values[name] = text
	}
}
