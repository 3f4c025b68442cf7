package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Erase removes what is about somebody, with the runs; see [NewErasure].
const Erase Action = "erase"

// ReceiptRetention is how long an erasure that has ended is remembered: as long as the audit log by default.
const ReceiptRetention = 400 * 24 * time.Hour

// Part is one sort of records that an erasure goes through.
type Part string

// The parts, in the order in which an erasure goes through them. What starts runs goes first.
const (
	OwnRecords     Part = "records" // a sub-tenant's workflows, connections, endpoints and registration
	Runs           Part = "runs"    // with all that belongs to each
	HookDeliveries Part = "hookDeliveries"
	Events         Part = "events"
	Answers        Part = "answers" // that are kept for repeated requests
	Samples        Part = "samples" // of nodes of workflow versions
	Jobs           Part = "jobs"
	Keys           Part = "keys"
	AuditLog       Part = "auditLog"
	OperatorsLog   Part = "operatorsLog"
	Notices        Part = "notices"    // to other processes
	ErasedRuns     Part = "erasedRuns" // which it has noted itself
)

// Subject says what an erasure is about.
type Subject string

// The subjects, as a client names them.
const (
	OfEntity    Subject = "entityId"
	OfSubTenant Subject = "subTenantId"
	OfFilter    Subject = "filter" // runs, and nobody in particular
)

// parts lists what an erasure goes through. What was before a time says nothing of what there is now.
func (s Subject) parts(before bool) []Part {
	all := []Part{Runs, HookDeliveries, Events, Answers, Jobs, Keys, AuditLog, OperatorsLog, Notices, ErasedRuns}
	switch {
	case s == OfFilter:
		return []Part{Runs, HookDeliveries, Answers, ErasedRuns}
	case before:
		return all
	case s == OfSubTenant:
		return append([]Part{OwnRecords, Samples}, all...)
	default:
		return append([]Part{Samples}, all...)
	}
}

// Removed counts what an erasure has removed.
type Removed struct {
	Records        int // of a sub-tenant: workflows, connections, endpoints, its registration
	Runs           int
	Cancelled      int // of those, before they were removed
	Events         int
	Deliveries     int // of those events
	HookDeliveries int
	Answers        int
	Samples        int
	Jobs           int
	Keys           int
	AuditValues    int
}

// Plus adds what was removed.
func (r Removed) Plus(more Removed) Removed {
	return Removed{
		r.Records + more.Records, r.Runs + more.Runs, r.Cancelled + more.Cancelled, r.Events + more.Events, r.Deliveries + more.Deliveries, r.HookDeliveries + more.HookDeliveries,
		r.Answers + more.Answers, r.Samples + more.Samples, r.Jobs + more.Jobs, r.Keys + more.Keys, r.AuditValues + more.AuditValues,
	}
}

// Erasure is how far a job is that erases, and its receipt once it has ended.
type Erasure struct {
	Subject Subject
	Before  *time.Time // nothing younger is removed; nil for all
	Asked   string     // SHA-256 of what was asked for, in hexadecimal digits
	Part    Part       // that it goes through; empty once it has ended
	After   string     // the last record that it has come to there; empty for none
	Removed Removed
}

// ErasureDraft is what a client asks for who wants something erased.
type ErasureDraft struct {
	Entity    *string
	SubTenant *tenant.SubTenantID
	Filter    *run.Filter
	Before    *time.Time
	Malformed []domain.Violation
}

// NewErasure returns a job that removes what is about an entity or a sub-tenant, or runs by a filter: what there is now. An
// error is Invalid with the code erasure_invalid.
func NewErasure(id ID, scope tenant.Scope, d ErasureDraft, now time.Time) (*Job, error) {
	subject, filter := d.subject()
	var r domain.Rules
	r.Add(d.Malformed...)
	given := 0
	for field, is := range map[string]bool{"entityId": d.Entity != nil, "subTenantId": d.SubTenant != nil, "filter": d.Filter != nil} {
		if is || r.Broken(field) {
			given++
		}
	}
	r.Check(given > 0, "entityId", domain.Required, "must be given, or subTenantId, or filter: exactly one of the three")
	r.Check(given < 2, "entityId", domain.Conflicting, "must be given, or subTenantId, or filter: exactly one of the three")
	if d.Entity != nil {
		r.Text(*d.Entity, "entityId", 1, run.MaxEntity)
	}
	if d.SubTenant != nil {
		r.Check(*d.SubTenant != "", "subTenantId", domain.Required, "must not be empty")
	}
	if d.Filter != nil && d.Filter.Entity != nil {
		r.Text(*d.Filter.Entity, "filter.entityId", 0, run.MaxEntity)
	}
	if err := r.Err("erasure_invalid", "The erasure is not valid."); err != nil {
		return nil, err
	}
	until := now
	if d.Before != nil && d.Before.Before(until) {
		until = *d.Before
	}
	if filter.To == nil || until.Before(*filter.To) {
		filter.To = &until
	}
	erasure := &Erasure{Subject: subject, Before: domain.CopyOf(d.Before), Asked: d.digest(), Part: subject.parts(d.Before != nil)[0]}
	return &Job{State{ID: id, Scope: scope, Action: Erase, Filter: filter, Erasure: erasure, Status: Running, CreatedAt: now, UpdatedAt: now, Revision: 1}}, nil
}

func (d ErasureDraft) subject() (Subject, run.Filter) {
	switch {
	case d.Entity != nil:
		return OfEntity, run.Filter{Entity: d.Entity, Children: true}
	case d.SubTenant != nil:
		return OfSubTenant, run.Filter{SubTenant: d.SubTenant, Children: true}
	case d.Filter != nil:
		return OfFilter, *d.Filter
	default:
		return "", run.Filter{}
	}
}

// digest is the SHA-256 of what was asked for as JSON without spaces, its members in this order and times in UTC with
// milliseconds.
func (d ErasureDraft) digest() string {
	type filter struct {
		Status    run.Status          `json:"status,omitempty"`
		Workflow  string              `json:"workflowId,omitempty"`
		Version   string              `json:"workflowVersionId,omitempty"`
		Trigger   string              `json:"triggerId,omitempty"`
		Entity    *string             `json:"entityId,omitempty"`
		Parent    string              `json:"parentRunId,omitempty"`
		Include   string              `json:"include,omitempty"`
		SubTenant *tenant.SubTenantID `json:"subTenantId,omitempty"`
		From      string              `json:"from,omitempty"`
		To        string              `json:"to,omitempty"`
	}
	asked := struct {
		Entity    *string             `json:"entityId,omitempty"`
		SubTenant *tenant.SubTenantID `json:"subTenantId,omitempty"`
		Filter    *filter             `json:"filter,omitempty"`
		Before    string              `json:"before,omitempty"`
	}{Entity: d.Entity, SubTenant: d.SubTenant, Before: instant(d.Before)}
	if f := d.Filter; f != nil {
		asked.Filter = &filter{
			Status: f.Status, Workflow: string(f.Workflow), Version: string(f.Version), Trigger: string(f.Trigger), Entity: f.Entity, Parent: string(f.Parent),
			SubTenant: f.SubTenant, From: instant(f.From), To: instant(f.To),
		}
		if f.Children {
			asked.Filter.Include = "children"
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(asked) // texts can be encoded
	sum := sha256.Sum256(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	return hex.EncodeToString(sum[:])
}

func instant(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}

// Erasure is how far a job is that erases; nil for any other.
func (j *Job) Erasure() *Erasure { return domain.CopyOf(j.state.Erasure) }

// Name is of the entity or the sub-tenant that an erasure is about; empty for a filter, and once it has ended.
func (j *Job) Name() string {
	switch f, e := j.state.Filter, j.state.Erasure; {
	case e == nil:
		return ""
	case e.Subject == OfEntity && f.Entity != nil:
		return *f.Entity
	case e.Subject == OfSubTenant && f.SubTenant != nil:
		return string(*f.SubTenant)
	default:
		return ""
	}
}

// Taken says that an erasure has found runs that it is to remove.
func (j *Job) Taken(runs int) { j.state.Matched += runs }

// Erased says what an erasure has removed, and how far it is in its part.
func (j *Job) Erased(removed Removed, after string, now time.Time) {
	e := *j.state.Erasure
	e.Removed, e.After = e.Removed.Plus(removed), after
	j.state.Erasure, j.state.UpdatedAt = &e, later(now, j.state.UpdatedAt)
	j.state.Done += removed.Runs
}

// PartErased says that nothing is left of a part. After the last one the job has ended.
func (j *Job) PartErased(now time.Time) {
	e := *j.state.Erasure
	parts := e.Subject.parts(e.Before != nil)
	next := slices.Index(parts, e.Part) + 1
	if next == len(parts) {
		j.finish(Completed, now)
		return
	}
	e.Part, e.After = parts[next], ""
	j.state.Erasure, j.state.UpdatedAt = &e, later(now, j.state.UpdatedAt)
}

// forget leaves nothing of an erasure that has ended but its receipt.
func (s *State) forget() {
	if s.Erasure == nil {
		return
	}
	e := *s.Erasure
	e.Part, e.After = "", ""
	s.Erasure, s.Filter = &e, run.Filter{}
}
