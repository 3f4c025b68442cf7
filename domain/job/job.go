// Package job is about work on many runs that somebody asked for at once.
package job

import (
	"slices"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// ID identifies a job.
type ID string

// IDPrefix begins every identifier of a job.
const IDPrefix = "job"

const (
	// MaxRuns is how many runs a job works on at most: their identifiers are kept with it.
	MaxRuns = 100_000

	// MaxFailures is how many of the runs that a job could not do anything with it names.
	MaxFailures = 20

	// Retention is for how long a job that has ended is remembered.
	Retention = 30 * 24 * time.Hour
)

// Action is what a job does with each run.
type Action string

// The actions.
const (
	Retry  Action = "retry"
	Rerun  Action = "rerun"
	Cancel Action = "cancel"

	Replay Action = "replay" // of deliveries to a hook, in place of runs; see [NewReplay]
)

// Actions lists every action.
func Actions() []Action { return []Action{Retry, Rerun, Cancel} }

// Fits lists the statuses of the runs that a job with the action takes.
func (a Action) Fits() []run.Status {
	switch a {
	case Retry:
		return []run.Status{run.StatusFailed}
	case Rerun:
		return []run.Status{run.StatusCompleted, run.StatusFailed, run.StatusCancelled}
	case Cancel:
		return []run.Status{run.StatusPending, run.StatusRunning, run.StatusPaused}
	}
	return nil
}

// Status says how far a job is.
type Status string

// The statuses of a job.
const (
	Running   Status = "running"
	Completed Status = "completed" // it has come to every run, whether or not it could do something with it
	Cancelled Status = "cancelled" // somebody ended it; what it has done stays done
)

// Statuses lists every status.
func Statuses() []Status { return []Status{Running, Completed, Cancelled} }

// Draft is what a client asks for.
type Draft struct {
	Action    Action
	Filter    *run.Filter // required, so that nobody means all runs by accident
	Malformed []domain.Violation
}

// Filter narrows a list of jobs; the zero value takes all of them.
type Filter struct {
	Status Status // empty for any
}

// SortFields lists what jobs can be sorted by.
func SortFields() []string { return []string{"createdAt", "updatedAt"} }

// Failure says why a job could do nothing with a run.
type Failure struct {
	Run     run.ID
	Code    string
	Message string
}

// State is a job as it is stored.
type State struct {
	ID         ID
	Scope      tenant.Scope `fact:"-"` // of who asked for it: no other runs are within its reach
	Action     Action
	Filter     run.Filter // without what follows from the action
	Verdict    string     // of the deliveries that are replayed; empty for any
	Erasure    *Erasure   `fact:"-"` // nil for what erases nothing
	Status     Status
	Matched    int       // runs that it works on
	Done       int       `fact:"-"` // runs that the action was carried out on
	Failed     int       `fact:"-"` // runs that it was not
	Failures   []Failure `fact:"-"` // the first of those
	Cursor     run.ID    `fact:"-"` // the last run that it has come to; empty for none
	CreatedAt  time.Time
	UpdatedAt  time.Time
	FinishedAt *time.Time `fact:"-"`
	Revision   int64
}

// Job is work on many runs. It comes to each of them once, in the order of their identifiers.
type Job struct{ state State }

// New returns a job that is to be given its runs. An error is Invalid with the code job_invalid.
func New(id ID, scope tenant.Scope, d Draft, now time.Time) (*Job, error) {
	var r domain.Rules
	r.Add(d.Malformed...)
	known := slices.Contains(Actions(), d.Action)
	r.Check(d.Action != "", "action", domain.Required, "must be %s", domain.OneOf(Actions()...))
	r.Check(known, "action", domain.NotAllowed, "must be %s, not %q", domain.OneOf(Actions()...), d.Action)
	r.Check(d.Filter != nil, "filter", domain.Required, "must say which runs; {} is all that the action fits")
	if f := d.Filter; f != nil {
		fits := d.Action.Fits()
		r.Check(!known || f.Status == "" || slices.Contains(fits, f.Status), "filter.status", domain.NotAllowed, "must be %s where the action is %q", domain.OneOf(fits...), d.Action)
		if f.Entity != nil {
			r.Text(*f.Entity, "filter.entityId", 0, run.MaxEntity)
		}
	}
	if err := r.Err("job_invalid", "The job is not valid."); err != nil {
		return nil, err
	}
	return &Job{State{ID: id, Scope: scope, Action: d.Action, Filter: *d.Filter, Status: Running, CreatedAt: now, UpdatedAt: now, Revision: 1}}, nil
}

// ReplayDraft is what a client asks for who wants the deliveries to a hook to be replayed.
type ReplayDraft struct {
	Trigger   trigger.ID
	From, To  *time.Time
	Verdict   string // empty for any
	Malformed []domain.Violation
}

// NewReplay returns a job that is to be given the deliveries of a time, whose identifiers stand in place of runs'. An error is
// Invalid with the code job_invalid.
func NewReplay(id ID, scope tenant.Scope, d ReplayDraft, now time.Time) (*Job, error) {
	var r domain.Rules
	r.Add(d.Malformed...)
	if !r.Broken("from") {
		r.Check(d.From != nil, "from", domain.Required, "must be given, so that nobody means all deliveries by accident")
	}
	if !r.Broken("to") {
		r.Check(d.To != nil, "to", domain.Required, "must be given, so that nobody means all deliveries by accident")
	}
	r.Check(d.From == nil || d.To == nil || d.From.Before(*d.To), "to", domain.Conflicting, "must be after from")
	if err := r.Err("job_invalid", "The job is not valid."); err != nil {
		return nil, err
	}
	filter := run.Filter{Trigger: d.Trigger, From: d.From, To: d.To}
	return &Job{State{ID: id, Scope: scope, Action: Replay, Filter: filter, Verdict: d.Verdict, Status: Running, CreatedAt: now, UpdatedAt: now, Revision: 1}}, nil
}

// Restore returns a job as it was stored.
func Restore(s State) *Job { return &Job{s} }

// Facts are what the audit log says of it.
func (j *Job) Facts() domain.Facts {
	s := j.state
	if s.Erasure == nil {
		return domain.FactsOf(s)
	}
	s.Filter = run.Filter{} // whom it is about is not to be remembered
	facts := domain.FactsOf(s)
	facts["subject"], facts["asked"] = domain.TextFact(strconv.Quote(string(s.Erasure.Subject))), domain.TextFact(strconv.Quote(s.Erasure.Asked))
	return facts
}

// State returns a copy for the store.
func (j *Job) State() State {
	s := j.state
	s.Failures, s.Erasure = slices.Clone(s.Failures), domain.CopyOf(s.Erasure)
	return s
}

// Begin gives the job its runs. More than [MaxRuns] are Invalid with the code too_many_runs.
func (j *Job) Begin(matched int, now time.Time) error {
	var r domain.Rules
	r.Check(matched <= MaxRuns, "filter", domain.TooLarge, "must take at most %d runs; narrow it, with from and to, and start one job after another", MaxRuns)
	if err := r.Err("too_many_runs", "The filter takes more runs than one job works on."); err != nil {
		return err
	}
	j.state.Matched = matched
	j.conclude(now)
	return nil
}

// Record says what became of the next runs, the last of which is named. It has no more failures
// than runs.
func (j *Job) Record(runs int, last run.ID, failures []Failure, now time.Time) {
	s := &j.state
	s.Done += runs - len(failures)
	s.Failed += len(failures)
	s.Failures = append(s.Failures, failures[:min(len(failures), MaxFailures-len(s.Failures))]...)
	s.Cursor, s.UpdatedAt = last, later(now, s.UpdatedAt)
	j.conclude(now)
}

func (j *Job) conclude(now time.Time) {
	if j.state.Done+j.state.Failed >= j.state.Matched {
		j.finish(Completed, now)
	}
}

func (j *Job) finish(as Status, now time.Time) {
	at := later(now, j.state.UpdatedAt)
	j.state.Status, j.state.UpdatedAt, j.state.FinishedAt = as, at, &at
	j.state.forget()
}

// Cancel ends the job. A Conflict with the code job_finished says that it had ended.
func (j *Job) Cancel(now time.Time) error {
	if j.state.Status != Running {
		return domain.Fail(domain.Conflict, "job_finished", "Only a job that is running can be cancelled; job %s is %s.", j.state.ID, j.state.Status)
	}
	j.finish(Cancelled, now)
	return nil
}

// After is a time at which a run can come up that the job makes: no job works on what it made.
func (j *Job) After(now time.Time) time.Time { return later(now, j.state.CreatedAt) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Saved notes that the job was stored.
func (j *Job) Saved() { j.state.Revision++ }

// ID identifies the job.
func (j *Job) ID() ID { return j.state.ID }

// Scope is which runs are within its reach.
func (j *Job) Scope() tenant.Scope { return j.state.Scope }

// Tenant is whose job it is.
func (j *Job) Tenant() tenant.ID { return j.state.Scope.Tenant() }

// Action is what it does with each run.
func (j *Job) Action() Action { return j.state.Action }

// Filter says which runs it was asked for.
func (j *Job) Filter() run.Filter { return j.state.Filter }

// Statuses lists the statuses of the runs that it takes.
func (j *Job) Statuses() []run.Status {
	if one := j.state.Filter.Status; one != "" {
		return []run.Status{one}
	}
	return j.state.Action.Fits()
}

// Status says how far it is.
func (j *Job) Status() Status { return j.state.Status }

// Verdict is that of the deliveries that are replayed; empty for any.
func (j *Job) Verdict() string { return j.state.Verdict }

// Matched is how many runs it works on.
func (j *Job) Matched() int { return j.state.Matched }

// Done is on how many of them the action was carried out.
func (j *Job) Done() int { return j.state.Done }

// Failed is on how many of them it was not.
func (j *Job) Failed() int { return j.state.Failed }

// Failures says why, of the first [MaxFailures] of them.
func (j *Job) Failures() []Failure { return slices.Clone(j.state.Failures) }

// Cursor is the last run that it has come to; empty for none.
func (j *Job) Cursor() run.ID { return j.state.Cursor }

// CreatedAt is when it was asked for.
func (j *Job) CreatedAt() time.Time { return j.state.CreatedAt }

// UpdatedAt is when it last went on.
func (j *Job) UpdatedAt() time.Time { return j.state.UpdatedAt }

// FinishedAt is when it ended; nil until then.
func (j *Job) FinishedAt() *time.Time { return j.state.FinishedAt }
