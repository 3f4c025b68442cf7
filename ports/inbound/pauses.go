package inbound

import (
	"context"
	"encoding/json"
	"net/netip"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Pauses are the questions that wait for a person.
type Pauses interface {
	List(ctx context.Context, who tenant.Caller, f run.PauseFilter, q domain.Query) (domain.Page[run.OpenPause], error)

	// Answer answers a question, and notes who did. One that does not exist is NotFound
	// pause_not_found; a Conflict is already_answered, which says by whom, not_paused or expired; an
	// answer that does not fit is Invalid input_invalid.
	Answer(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id run.PauseID, c run.AnswerCall) error
}

// AnswerPages are the pages for one answer, which whoever has their address may open. A token that
// opens nothing is NotFound page_not_found.
type AnswerPages interface {
	// Enter counts a request from an address. Who comes too often is RateLimited rate_limited.
	Enter(ctx context.Context, from netip.Addr) error

	Show(ctx context.Context, token string) (AnswerPage, error)

	// Answer answers the question that the page showed, by the number of its pause; errors are those of
	// [Pauses.Answer].
	Answer(ctx context.Context, token string, seq int64, input json.RawMessage) error
}

// AnswerState is what has become of a question.
type AnswerState string

// The states of a question.
const (
	NotAskedYet     AnswerState = "not_asked"
	WaitsForAnswer  AnswerState = "waiting"
	AnswerGiven     AnswerState = "answered"
	AnswerExpired   AnswerState = "expired"
	AnswerCancelled AnswerState = "cancelled" // the run has ended without it
	AnswerSimulated AnswerState = "simulated" // the link is one of a simulation, which asks nobody
	AnswerSuspended AnswerState = "suspended" // nothing is taken or shown for the tenant at the moment
)

// AnswerPage is what a page for one answer shows.
type AnswerPage struct {
	Tenant   tenant.ID
	Status   AnswerState
	Question run.Question
	Seq      int64         // of the pause
	Until    *time.Time    // nil for never
	EndedAt  *time.Time    // when it was answered, expired or cancelled
	By       *tenant.Actor // who answered; nil where nobody did who is known
}
