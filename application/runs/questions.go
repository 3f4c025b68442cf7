package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Questions implements inbound.Pauses.
type Questions struct{ runs *Service }

// Pages implements inbound.AnswerPages.
type Pages struct {
	runs    *Service
	limiter outbound.Limiter
}

var (
	_ inbound.Pauses      = (*Questions)(nil)
	_ inbound.AnswerPages = (*Pages)(nil)
)

// NewQuestions answers questions of runs.
func NewQuestions(of *Service) *Questions { return &Questions{of} }

// NewPages answers them by their links.
func NewPages(of *Service, limiter outbound.Limiter) *Pages { return &Pages{of, limiter} }

// List returns a page of the questions that wait.
func (s *Questions) List(ctx context.Context, who tenant.Caller, f run.PauseFilter, q domain.Query) (found domain.Page[run.OpenPause], err error) {
	if err = who.May(tenant.ReadPauses); err != nil {
		return found, err
	}
	err = s.runs.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Runs.Pauses.List(ctx, who.Scope, f, q)
		return err
	})
	for i := range found.Items {
		one := &found.Items[i]
		if one.Question == nil {
			one.Question = s.runs.plannedQuestion(ctx, who.Scope, *one)
		}
		if !answers(who) {
			*one = one.WithoutLinks()
		}
	}
	return found, err
}

// plannedQuestion is what the version says that a run executes, whose question was asked by a gateway
// that kept no copy of it; nil where the version is gone.
func (s *Service) plannedQuestion(ctx context.Context, scope tenant.Scope, p run.OpenPause) *run.Question {
	plan, _, err := s.planOf(ctx, scope, p.Run)
	if err != nil || plan == nil {
		return nil
	}
	return plan.Question(p.Node)
}

// Answer continues a run by the answer to its question.
func (s *Questions) Answer(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id run.PauseID, c run.AnswerCall) error {
	if err := who.May(tenant.AnswerPause); err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return err
	}
	of, seq, ok := id.Question()
	if !ok {
		return run.UnknownPause()
	}
	return s.runs.answer(ctx, who.Scope, idempotency, of, run.Answered{Seq: seq, Input: c.Input, By: who.Actor()})
}

func (s *Service) answer(ctx context.Context, scope tenant.Scope, idempotency domain.IdempotencyKey, id run.ID, fact run.Answered) error {
	answered := func(r *run.Run, plan *run.Plan, at time.Time) (run.Step, error) {
		return s.advance(fact, r.RefuseAnswer(fact.Seq))(r, plan, at)
	}
	_, err := s.apply(ctx, scope, idempotency, id, answered, func(*run.Run) any { return nil })
	if errors.Is(err, domain.NotFound) {
		return run.UnknownPause()
	}
	return err
}

// How often one address may open or answer pages.
const (
	pagesPerAddress = 60
	pagesWindow     = time.Minute
)

// Enter counts who comes.
func (s *Pages) Enter(ctx context.Context, from netip.Addr) error {
	allowed, err := s.limiter.Allow(ctx, "answer "+domain.NetworkOf(from), pagesPerAddress, pagesWindow)
	if err != nil || allowed.Granted {
		return err
	}
	refused := domain.Fail(domain.RateLimited, "rate_limited", "Too many requests came from this address. Wait a little.")
	refused.RetryAfter = allowed.RetryAfter
	return refused
}

// Show reads what has become of a question.
func (s *Pages) Show(ctx context.Context, token string) (page inbound.AnswerPage, err error) {
	link, active, err := s.open(ctx, token)
	page = inbound.AnswerPage{Tenant: link.Tenant, Status: inbound.AnswerSuspended}
	if err != nil || !active {
		return page, err
	}
	if link.Simulated {
		page.Status = inbound.AnswerSimulated
		return page, nil
	}
	plan, demand, err := s.runs.planOf(ctx, tenant.All(link.Tenant), link.Run)
	if err != nil {
		return page, unknownPage(err)
	}
	waited := s.runs.computing.Do(ctx, link.Tenant, demand, func() {
		err = s.runs.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
			r, err := st.Runs.Runs.Get(ctx, tenant.All(link.Tenant), link.Run)
			if err != nil {
				return err
			}
			now, err := st.Runs.Queue.Now(ctx)
			page.Status = inbound.NotAskedYet
			show(&page, r, plan, link.Node, now)
			return err
		})
	})
	return page, cmp.Or(waited, unknownPage(err))
}

// Answer answers as whoever has the link.
func (s *Pages) Answer(ctx context.Context, token string, seq int64, input json.RawMessage) error {
	link, active, err := s.open(ctx, token)
	if err != nil {
		return err
	}
	if !active || link.Simulated {
		return unknownPage(domain.NotFound)
	}
	if err := (run.AnswerCall{Input: input}).Check(); err != nil {
		return err
	}
	return s.runs.answer(ctx, tenant.All(link.Tenant), domain.IdempotencyKey{}, link.Run, run.Answered{Seq: seq, Node: link.Node, Input: input, By: tenant.Actor{Kind: tenant.ByLink}})
}

// open reads a token, and whether its tenant is active.
func (s *Pages) open(ctx context.Context, token string) (link run.Link, active bool, err error) {
	link, ok := s.runs.key.ReadLink(token)
	if !ok {
		return link, false, unknownPage(domain.NotFound)
	}
	err = s.runs.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		ten, err := st.Tenants.Get(ctx, link.Tenant)
		if err == nil {
			active = ten.Status() == tenant.Active
		}
		return err
	})
	return link, active, unknownPage(err)
}

// unknownPage is the same whether a token is wrong or its run is gone.
func unknownPage(err error) error {
	if errors.Is(err, domain.NotFound) {
		return domain.Fail(domain.NotFound, "page_not_found", "There is no such page, or it is not kept any more.")
	}
	return err
}

// show says what has become of the question of a node.
func show(page *inbound.AnswerPage, r *run.Run, plan *run.Plan, of workflow.NodeID, now time.Time) {
	q, asked := r.Question(plan, of)
	switch {
	case asked.Pause == nil, asked.Status == run.NodePending: // another time, where the run is retried
		if r.Status().Finished() {
			page.Status, page.EndedAt = inbound.AnswerCancelled, r.FinishedAt()
		}
		return
	case asked.Status == run.NodeWaiting && asked.Pause.Until != nil && !now.Before(*asked.Pause.Until):
		page.Status, asked.FinishedAt = inbound.AnswerExpired, asked.Pause.Until
	case asked.Status == run.NodeWaiting:
		page.Status = inbound.WaitsForAnswer
	case asked.Status == run.NodeCompleted:
		page.Status = inbound.AnswerGiven
	case asked.Failure != nil && asked.Failure.Code == run.CodeExpired:
		page.Status = inbound.AnswerExpired
	default:
		page.Status = inbound.AnswerCancelled
	}
	page.Question, page.Seq, page.Until, page.EndedAt, page.By = q, asked.Pause.Seq, asked.Pause.Until, asked.FinishedAt, asked.Pause.AnsweredBy
}
