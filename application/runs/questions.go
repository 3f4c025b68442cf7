package runs

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"time"

	"github.com/sluicehq/sluice/application/execution"
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
		if one := &found.Items[i]; err == nil && one.Question == nil {
			one.Question = s.runs.plannedQuestion(ctx, who.Scope, *one)
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

// Show reads what has become of a question.
func (s *Pages) Show(ctx context.Context, from netip.Addr, token string) (page inbound.AnswerPage, err error) {
	link, err := s.enter(ctx, from, token)
	if err != nil {
		return page, err
	}
	page = inbound.AnswerPage{Tenant: link.Tenant, Status: inbound.NotAskedYet}
	scope := tenant.All(link.Tenant)
	plan, _, err := s.runs.planOf(ctx, scope, link.Run)
	if err != nil {
		return page, unknownPage(err)
	}
	var size int64
	err = s.runs.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		_, size, err = st.Runs.Origins.Of(ctx, scope, link.Run)
		return err
	})
	if err != nil {
		return page, unknownPage(err)
	}
	waited := s.runs.computing.Do(ctx, link.Tenant, execution.Copies*size, func() {
		err = s.runs.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
			r, err := st.Runs.Runs.Get(ctx, scope, link.Run)
			if err == nil {
				show(&page, r, plan, link.Node)
			}
			return err
		})
	})
	if waited != nil {
		return page, waited
	}
	return page, unknownPage(err)
}

// Answer answers as whoever has the link.
func (s *Pages) Answer(ctx context.Context, from netip.Addr, token string, seq int64, input json.RawMessage) error {
	link, err := s.enter(ctx, from, token)
	if err != nil {
		return err
	}
	if err := (run.AnswerCall{Input: input}).Check(); err != nil {
		return err
	}
	return s.runs.answer(ctx, tenant.All(link.Tenant), domain.IdempotencyKey{}, link.Run, run.Answered{Seq: seq, Node: link.Node, Input: input, By: tenant.Actor{Kind: tenant.ByLink}})
}

// enter counts who comes, and reads the token.
func (s *Pages) enter(ctx context.Context, from netip.Addr, token string) (run.Link, error) {
	from = from.Unmap()
	if from.Is6() { // whoever has an address has all of its network
		if network, err := from.Prefix(64); err == nil {
			from = network.Addr()
		}
	}
	allowed, err := s.limiter.Allow(ctx, "answer "+from.String(), pagesPerAddress, pagesWindow)
	if err != nil {
		return run.Link{}, err
	}
	if !allowed.Granted {
		refused := domain.Fail(domain.RateLimited, "rate_limited", "Too many requests came from this address. Wait a little.")
		refused.RetryAfter = allowed.RetryAfter
		return run.Link{}, refused
	}
	link, ok := s.runs.key.ReadLink(token)
	if !ok {
		return run.Link{}, unknownPage(domain.NotFound)
	}
	return link, nil
}

// unknownPage is the same whether a token is wrong or its run is gone.
func unknownPage(err error) error {
	if errors.Is(err, domain.NotFound) {
		return domain.Fail(domain.NotFound, "page_not_found", "There is no such page, or it is not kept any more.")
	}
	return err
}

// show tells what has become of the question of a node.
func show(page *inbound.AnswerPage, r *run.Run, plan *run.Plan, of workflow.NodeID) {
	q, pause, status, at := r.Question(plan, of)
	if pause == nil {
		if r.Status().Finished() {
			page.Status, page.EndedAt = inbound.AnswerCancelled, r.FinishedAt()
		}
		return
	}
	page.Question, page.Seq, page.Until, page.EndedAt, page.By = q, pause.Seq, pause.Until, at, pause.AnsweredBy
	switch status {
	case run.NodeWaiting:
		page.Status = inbound.WaitsForAnswer
	case run.NodeCompleted:
		page.Status = inbound.AnswerGiven
	case run.NodeFailed:
		page.Status = inbound.AnswerExpired
	default:
		page.Status = inbound.AnswerCancelled
	}
}
