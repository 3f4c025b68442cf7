package jobs_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	compare "github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/searchtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/adapters/system"
	recording "github.com/sluicehq/sluice/application/audit"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// name is of who is erased: as it stands in JSON, in an address and in a text it is written in three ways.
const name = `anna+7 "Änn"`

func newID[T ~string](prefix string) T { return T(system.Random{}.ID(prefix)) }

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// aRun is one of an owner, about an entity.
func (d *env) aRun(entity string, sub tenant.SubTenantID, change func(*run.State)) *run.Run {
	now := d.Clock.Now().Add(-time.Hour)
	s := run.State{
		Origin: run.Origin{
			ID: newID[run.ID](run.IDPrefix), Tenant: d.Owner, SubTenant: sub, Workflow: d.ver.Workflow(), Version: d.ver.ID(), Entity: entity,
			Payload: fixture.Body(`{"who":` + quoted(entity) + `}`), Cause: run.CauseManual, CreatedAt: now,
		},
		Status: run.StatusCompleted, UpdatedAt: now, FinishedAt: &now,
	}
	if change != nil {
		change(&s)
	}
	return run.Restore(s)
}

func below(parent *run.Run) func(*run.State) {
	return func(s *run.State) { s.Parent, s.ParentNode, s.Depth = parent.ID(), "call", 1 }
}

func unfinished(s *run.State) { s.Status, s.FinishedAt = run.StatusPending, nil }

// fill stores something about somebody wherever the gateway keeps it, and something about somebody else.
func (d *env) fill(entity string, sub tenant.SubTenantID) {
	d.Helper()
	about := entity
	if about == "" {
		about = string(sub)
	}
	var many []*run.Run
	for range 60 { // more than a batch
		many = append(many, d.aRun(entity, sub, nil))
	}
	ended := d.aRun("else", "", func(s *run.State) { s.Payload = fixture.Body(`{"customers":[` + quoted(about) + `]}`) })
	going := d.aRun("else", "", func(s *run.State) {
		unfinished(s)
		s.Payload = fixture.Body(`{"customers":[` + quoted(about) + `]}`)
	})
	child := d.aRun(entity, sub, below(ended))
	many = append(many, d.aRun("else", "", nil), ended, going, child, d.aRun(entity, sub, below(going)),
		d.aRun("else", "", func(s *run.State) { below(child)(s); s.Payload = fixture.Body(`[` + quoted(about) + `]`) }))
	live := d.aRun(entity, sub, unfinished)
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, append(many, live)...)
		return err
	})
	d.Begin(live.ID()) // asks a person, and events say so
	trg := d.NewTrigger(d.ver, `{}`, func(s *trigger.State) { s.Name = newID[string]("name") })
	h := hook.Restore(hook.State{
		Trigger: trg.ID(), Tenant: d.Owner, Active: true, Token: hook.TokenHash(sha256.Sum256([]byte(trg.ID()))), CreatedAt: d.Clock.Now(), UpdatedAt: d.Clock.Now(), Revision: 1,
	})
	delivery := func(body string, runs ...run.ID) *hook.Received {
		at := d.Clock.Now().Add(-time.Minute)
		return &hook.Received{
			ID: newID[hook.DeliveryID]("hdl"), Tenant: d.Owner, Trigger: trg.ID(), At: at, Verdict: hook.Accepted, Runs: runs,
			Request: hook.Request{Method: "POST", Address: "/", Headers: hook.Headers{}, Body: []byte(body), At: at},
		}
	}
	gone := event.Restore(event.State{ // of a run that was removed when it was old
		ID: newID[event.ID](event.IDPrefix), Tenant: d.Owner, SubTenant: sub, Type: event.RunCompleted, At: d.Clock.Now().Add(-time.Hour),
		Data: domain.RestoreDocument(`{"runId":"run_gone","entityId":` + quoted(about) + `}`),
	})
	answer := func(text string) domain.IdempotencyKey {
		return domain.IdempotencyKey{Scope: "POST /x", Key: newID[string]("key"), Fingerprint: "f", Answer: func(any) ([]byte, error) { return []byte(text), nil }}
	}
	before := d.Clock.Now().Add(-time.Minute)
	var entropy [tenant.KeyEntropy]byte
	system.Random{}.Fill(entropy[:])
	team, life := cmp.Or(sub, "team"), tenant.MaxTokenLife
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		token, err := tenant.NewEmbedToken(newID[tenant.KeyID](tenant.EmbedTokenIDPrefix), d.Owner, tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{
			SubTenant: &team, Rights: []tenant.Right{tenant.ReadRunsRight}, Subject: about,
		}, Life: &life}, tenant.NewKeyText(tenant.Embed, entropy), before)
		if err != nil {
			return err
		}
		target := audit.Target{Kind: "embedTokens", ID: "x"}
		facts := domain.Facts{"subject": domain.TextFact(quoted(about)), "other": domain.TextFact(`"stays"`)}
		act := audit.Act{Actor: audit.Actor{Kind: audit.ByKey, ID: "key_1", Subject: about}, Action: "revokeEmbedTokens"}
		operators := domain.Facts{"subject": facts["subject"], "tenantId": domain.TextFact(quoted(string(d.Owner)))}
		filter := run.Filter{Entity: &about}
		earlier, err := job.New(newID[job.ID](job.IDPrefix), tenant.All(d.Owner), job.Draft{Action: job.Rerun, Filter: &filter}, before)
		if err != nil {
			return err
		}
		return errors.Join(
			st.Hooks.Hooks.Insert(ctx, h),
			st.Hooks.Deliveries.Add(ctx, delivery(`{"a":[`+quoted(about)+`]}`), delivery(`who=`+strings.NewReplacer(" ", "+", "+", "%2B", `"`, "%22").Replace(about)), delivery(`{}`, many[0].ID()), delivery(`{}`)),
			st.Webhooks.Events.Append(ctx, gone),
			st.Idempotency.Record(ctx, d.Owner, answer(`{"entityId":`+quoted(about)+`}`), nil, before),
			st.Idempotency.Record(ctx, d.Owner, answer(`{"url":"/h/x","entityId":`+quoted(about)+`}`), nil, before), // which is encrypted
			st.Idempotency.Record(ctx, d.Owner, answer(`{"id":"`+string(many[1].ID())+`"}`), nil, before),
			st.Idempotency.Record(ctx, d.Owner, answer(`{"entityId":"else"}`), nil, before),
			st.Versions.Insert(ctx, workflow.RestoreVersion(workflow.VersionState{
				ID: newID[workflow.VersionID](workflow.VersionIDPrefix), Tenant: d.Owner, Workflow: d.ver.Workflow(), Number: 1000 + int(time.Now().UnixNano()%1e6), CreatedAt: before, Revision: 1,
				Pins: workflow.RestorePins(`{"a":{"id":` + quoted(about) + `},"b":{"id":"else"}}`),
			})),
			st.Runs.Jobs.Insert(ctx, earlier), earlier.Cancel(before), st.Runs.Jobs.Update(ctx, earlier),
			st.APIKeys.Insert(ctx, token),
			st.Audit.Log.Append(ctx, audit.New(newID[audit.ID](audit.IDPrefix), act, d.Owner, target, nil, facts, before, "salt_1"), audit.New(newID[audit.ID](audit.IDPrefix), act, "", target, nil, operators, before, "salt_2")),
		)
	})
}

// fillSubTenant stores what belongs to a sub-tenant itself.
func (d *env) fillSubTenant(sub tenant.SubTenantID) {
	d.Helper()
	now := d.Clock.Now()
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		wf := workflow.Restore(workflow.State{ID: newID[workflow.ID](workflow.IDPrefix), Tenant: d.Owner, SubTenant: sub, Name: "Of " + string(sub), Active: true, CreatedAt: now, UpdatedAt: now, Revision: 1})
		registered, err := tenant.NewSubTenant(newID[tenant.RegistrationID](tenant.RegistrationIDPrefix), d.Owner, tenant.SubTenantDraft{SubTenant: sub, Name: "Anna"}, now)
		if err != nil {
			return err
		}
		return errors.Join(
			st.Workflows.Insert(ctx, wf), st.SubTenants.Insert(ctx, registered),
			st.Connections.Insert(ctx, connection.Restore(connection.State{ID: newID[connection.ID](connection.IDPrefix), Tenant: d.Owner, SubTenant: sub, Name: "API", Kind: connection.Bearer, CreatedAt: now, UpdatedAt: now, Revision: 1})),
			st.Webhooks.Endpoints.Insert(ctx, event.RestoreEndpoint(event.EndpointState{ID: newID[event.EndpointID](event.EndpointIDPrefix), Tenant: d.Owner, SubTenant: sub, URL: "https://example.com", Secret: domain.NewSigningSecret([domain.SecretEntropy]byte{1}), Active: true, CreatedAt: now, UpdatedAt: now, Revision: 1})),
		)
	})
}

func (d *env) find() []string {
	d.Helper()
	found, err := searchtest.Find(d.Context(), d.Raw, name)
	if err != nil {
		d.Fatal(err)
	}
	return found
}

// erase asks for an erasure, and works on it until it has ended.
func (d *env) erase(work outbound.UnitOfWork, draft job.ErasureDraft) *job.Job {
	d.Helper()
	return d.finishErasure(work, d.ask(draft))
}

// ask asks for an erasure after all that there is.
func (d *env) ask(draft job.ErasureDraft) job.ID {
	d.Helper()
	d.Clock.Set(d.Clock.Now().Add(time.Hour))
	j, err := d.jobs.Erase(d.Context(), d.Caller, domain.IdempotencyKey{}, draft)
	if err != nil {
		d.Fatal(err)
	}
	return j.ID()
}

// finishErasure works on an erasure until it has ended.
func (d *env) finishErasure(work outbound.UnitOfWork, id job.ID) *job.Job {
	d.Helper()
	ctx := d.Context()
	for range 1000 {
		j := d.job(id)
		if j.Status() != job.Running {
			return j
		}
		_, err := d.worker(work).Step(ctx, func(err error) { d.Error(err) }) // a process of its own
		if err != nil && !errors.Is(err, portstest.ErrDied) {
			d.Fatal(err)
		}
		err = d.Raw.Statements(ctx, func(u *core.Unit) error {
			_, err := u.Exec(ctx, "end leases", `UPDATE jobs SET leased_until = $1`, time.Now().Add(-24*time.Hour).UTC())
			return err
		})
		if err != nil {
			d.Fatal(err)
		}
	}
	d.Fatal("the erasure does not end")
	return nil
}

func subjects() map[job.Subject]job.ErasureDraft {
	entity, sub := name, tenant.SubTenantID(name)
	return map[job.Subject]job.ErasureDraft{job.OfEntity: {Entity: &entity}, job.OfSubTenant: {SubTenant: &sub}}
}

func (d *env) fillFor(subject job.Subject) {
	d.Helper()
	if subject == job.OfEntity {
		d.fill(name, "")
		return
	}
	d.fill("", name)
	d.fillSubTenant(name)
}

func TestNothingIsLeftOfWhoIsErased(t *testing.T) {
	onEachStore(t, func(d *env) {
		for subject, draft := range subjects() {
			d.fillFor(subject)
			if places := d.find(); len(slices.Compact(slices.Sorted(slices.Values(places)))) < 11 {
				d.Errorf("before, %s is in %v only", subject, places)
			}
			others := len(d.RunsOf(d.Owner))
			j := d.erase(d.Raw, draft)
			if places := d.find(); len(places) > 0 {
				d.Errorf("of %s there is something left in %v", subject, places)
			}
			removed := j.Erasure().Removed
			if removed.Runs < 66 || removed.Cancelled < 2 || removed.Events < 3 || removed.HookDeliveries != 3 || removed.Answers != 3 || removed.Samples != 1 || removed.Jobs != 1 || removed.Keys != 1 || removed.AuditValues != 4 {
				d.Errorf("of %s were removed %+v", subject, removed)
			}
			if j.Status() != job.Completed || j.Done() != j.Matched() || j.Name() != "" || len(j.Erasure().Asked) != 64 {
				d.Errorf("the receipt is %+v", j.State())
			}
			if left := d.RunsOf(d.Owner); len(left) == 0 || len(left) >= others {
				d.Errorf("of %d runs %d are left", others, len(left))
			}
		}
	})
}

func TestAnErasureEndsWithTheSameReceiptWhateverProcessDies(t *testing.T) {
	onEachStore(t, func(d *env) {
		for subject, draft := range subjects() {
			var receipts []job.Removed
			for _, work := range []outbound.UnitOfWork{d.Raw, dying(d.Raw)} {
				d.fillFor(subject)
				receipts = append(receipts, d.erase(work, draft).Erasure().Removed)
				if places := d.find(); len(places) > 0 {
					d.Errorf("there is something left in %v", places)
				}
			}
			if diff := compare.Diff(receipts[0], receipts[1]); diff != "" {
				d.Error(diff)
			}
		}
	})
}

// careless leaves something out.
type careless struct {
	outbound.UnitOfWork
	part job.Part
}

func (s careless) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return s.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Erasures = carelessErasures{st.Erasures, s.part}
		if s.part == job.AuditLog || s.part == job.OperatorsLog {
			st.Audit.Log = carelessLog{st.Audit.Log, s.part == job.OperatorsLog}
		}
		return fn(ctx, st)
	})
}

type carelessErasures struct {
	outbound.ErasureRepository
	part job.Part
}

func (s carelessErasures) RemovePart(ctx context.Context, j *job.Job) (string, job.Removed, error) {
	if j.Erasure().Part == s.part {
		return "", job.Removed{}, nil
	}
	return s.ErasureRepository.RemovePart(ctx, j)
}

func (s carelessErasures) Take(ctx context.Context, j *job.Job, limit int) (int, job.Removed, error) {
	if s.part == job.Runs {
		return 0, job.Removed{}, nil
	}
	return s.ErasureRepository.Take(ctx, j, limit)
}

type carelessLog struct {
	outbound.AuditLog
	operators bool
}

func (s carelessLog) Erase(ctx context.Context, e audit.Entry) error {
	if (e.Tenant == "") == s.operators {
		return nil
	}
	return s.AuditLog.Erase(ctx, e)
}

// Runs of others may be gone since they were old, and what is kept of them is none of the business of an erasure.
func TestAnErasureLeavesWhatIsKeptOfOthersWhoseRunsAreGone(t *testing.T) {
	onEachStore(t, func(d *env) {
		d.fillFor(job.OfEntity)
		kept := []string{"hook_deliveries", "outcomes"}
		swept := newID[run.ID](run.IDPrefix)
		var trg string
		err := d.Raw.Statements(d.Context(), func(u *core.Unit) error {
			return u.ReadRow(d.Context(), "find a hook", &trg, `SELECT trigger_id FROM hooks WHERE tenant_id = $1`, string(d.Owner))
		})
		if err != nil {
			d.Fatal(err)
		}
		at := d.Clock.Now().Add(-time.Minute)
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			return errors.Join(
				st.Hooks.Deliveries.Add(ctx, &hook.Received{
					ID: newID[hook.DeliveryID]("hdl"), Tenant: d.Owner, Trigger: trigger.ID(trg), At: at, Verdict: hook.Accepted, Runs: []run.ID{swept},
					Request: hook.Request{Method: "POST", Address: "/", Headers: hook.Headers{}, Body: []byte(`{"who":"else"}`), At: at},
				}),
				st.Idempotency.Record(ctx, d.Owner, domain.IdempotencyKey{Scope: "POST /x", Key: "of others", Fingerprint: "f", Answer: func(any) ([]byte, error) {
					return []byte(`{"id":"` + string(swept) + `"}`), nil
				}}, nil, at),
			)
		})
		before := []int{d.count(kept[0]), d.count(kept[1])}
		removed := d.erase(d.Raw, subjects()[job.OfEntity]).Erasure().Removed
		if removed.HookDeliveries != 3 || removed.Answers != 3 || d.count(kept[0]) != before[0]-3 || d.count(kept[1]) != before[1]-3 {
			d.Errorf("%d deliveries and %d answers were removed", removed.HookDeliveries, removed.Answers)
		}
		if n := d.count("erased_runs"); n != 0 {
			d.Errorf("%d runs are still noted", n)
		}
	})
}

func TestTheSearchFindsWhatAnErasureLeavesOut(t *testing.T) {
	onEachStore(t, func(d *env) {
		for _, part := range []job.Part{job.Runs, job.HookDeliveries, job.Events, job.Answers, job.Samples, job.Jobs, job.Keys, job.AuditLog, job.OperatorsLog} {
			d.fillFor(job.OfEntity)
			d.erase(careless{d.Raw, part}, subjects()[job.OfEntity])
			if places := d.find(); len(places) == 0 {
				d.Errorf("nothing is found when %s are left out", part)
			}
			d.erase(d.Raw, subjects()[job.OfEntity])
		}
		if places := d.find(); len(places) > 0 {
			d.Errorf("in the end there is something left in %v", places)
		}
	})
}

func TestTheAuditLogHoldsAfterAnErasure(t *testing.T) {
	onEachStore(t, func(d *env) {
		d.fillFor(job.OfEntity)
		sealer := recording.NewSealer(d.Raw, d.Clock, recording.Retention(audit.DefaultRetention))
		if err := sealer.Seal(d.Context()); err != nil {
			d.Fatal(err)
		}
		d.erase(d.Raw, subjects()[job.OfEntity])
		for _, log := range []tenant.ID{d.Owner, ""} {
			v, err := recording.NewChains(d.Raw).Verify(d.Context(), log, nil, func(int64) {})
			if err != nil || v.Failed > 0 || v.Checked == 0 || v.Erased == 0 {
				d.Errorf("of %q %d were checked and %d values erased, and there is %v: %v", log, v.Checked, v.Erased, v.Problems, err)
			}
		}
	})
}

func TestAnErasureByFilterRemovesRunsAndWhatBelongsToThem(t *testing.T) {
	onEachStore(t, func(d *env) {
		ids := d.runs(3, run.StatusFailed)
		kept := d.runs(1, run.StatusPaused)
		d.Do(func(ctx context.Context, st outbound.Stores) (err error) {
			for _, of := range []run.ID{ids[1], kept[0]} {
				err = errors.Join(err, st.Idempotency.Record(ctx, d.Owner, domain.IdempotencyKey{Scope: "POST /x", Key: string(of), Fingerprint: "f", Answer: func(any) ([]byte, error) {
					return []byte(`{"id":"` + string(of) + `"}`), nil
				}}, nil, d.Clock.Now()))
			}
			return err
		})
		j := d.erase(d.Raw, job.ErasureDraft{Filter: &run.Filter{Status: run.StatusFailed}})
		if left := d.RunsOf(d.Owner); len(left) != 1 || left[0].ID != kept[0] || j.Done() != len(ids) || j.Erasure().Removed.Answers != 1 || d.count("outcomes") != 1 {
			d.Errorf("%d are left; %+v", len(left), j.State())
		}
		j = d.erase(d.Raw, job.ErasureDraft{Filter: &run.Filter{}})
		if left := d.RunsOf(d.Owner); len(left) != 0 || j.Erasure().Removed.Cancelled != 1 {
			d.Errorf("%d are left; %+v", len(left), j.State())
		}
		if kept := d.stored(); kept != 0 {
			d.Errorf("%d bytes still count", kept)
		}
	})
}

// count says how many rows of a table are the tenant's.
func (d *env) count(table string) (n int) {
	d.Helper()
	err := d.Raw.Statements(d.Context(), func(u *core.Unit) error {
		return u.ReadRow(d.Context(), "count rows", &n, `SELECT count(*) FROM `+table+` WHERE tenant_id = $1`, string(d.Owner))
	})
	if err != nil {
		d.Fatal(err)
	}
	return n
}

// stored is how many bytes count as the tenant's.
func (d *env) stored() (n int64) {
	d.Helper()
	err := d.Raw.Statements(d.Context(), func(u *core.Unit) error {
		return u.ReadRow(d.Context(), "read storage", &n, `SELECT CAST(coalesce(sum(bytes), 0) AS bigint) FROM tenant_storage WHERE tenant_id = $1`, string(d.Owner))
	})
	if err != nil {
		d.Fatal(err)
	}
	return n
}

func TestOnlyWhatIsOlderIsErasedWhereThatIsAsked(t *testing.T) {
	onEachStore(t, func(d *env) {
		entity := name
		young := d.aRun(name, "", func(s *run.State) { s.CreatedAt = d.Clock.Now() })
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			_, err := st.Runs.Runs.Start(ctx, young, d.aRun(name, "", nil))
			return err
		})
		before := d.Clock.Now().Add(-time.Minute)
		j := d.erase(d.Raw, job.ErasureDraft{Entity: &entity, Before: &before})
		if left := d.RunsOf(d.Owner); len(left) != 1 || left[0].ID != young.ID() || j.Erasure().Removed.Runs != 1 {
			d.Errorf("%d are left; %+v", len(left), j.State())
		}
	})
}

func TestARunIsDeletedWithAllThatIsAboutIt(t *testing.T) {
	onEachStore(t, func(d *env) {
		work := recording.NewWork(d.Raw, d.Clock, system.Random{})
		service := d.service(work)
		parent := d.aRun(name, "", nil)
		child, live := d.aRun(name, "", below(parent)), d.aRun("else", "", func(s *run.State) { below(parent)(s); unfinished(s) })
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			_, err := st.Runs.Runs.Start(ctx, parent, child, live)
			return errors.Join(err, st.Idempotency.Record(ctx, d.Owner, domain.IdempotencyKey{Scope: "POST /x", Key: "k", Fingerprint: "f", Answer: func(any) ([]byte, error) {
				return []byte(`{"id":"` + string(parent.ID()) + `","entityId":` + quoted(name) + `}`), nil
			}}, nil, parent.CreatedAt()))
		})
		remove := func(who tenant.Caller) error {
			return service.DeleteRun(d.Context(), who, parent.ID())
		}
		d.WantCode(remove(d.Caller), domain.Conflict, "run_not_finished")
		if d.count("runs") != 3 {
			d.Error("something was deleted")
		}
		other := d.Caller
		other.Scope = tenant.Only(d.Owner, "someone else's")
		d.WantCode(remove(other), domain.NotFound, "run_not_found")
		if _, err := d.Runs.Cancel(d.Context(), d.Caller, domain.IdempotencyKey{}, live.ID(), ""); err != nil {
			d.Fatal(err)
		}
		if err := remove(d.Caller); err != nil {
			d.Fatal(err)
		}
		if places := d.find(); len(places) > 0 || d.count("runs") != 0 {
			d.Errorf("%d runs are left, and something in %v", d.count("runs"), places)
		}
		d.WantCode(remove(d.Caller), domain.NotFound, "run_not_found")
	})
}

func TestARunIsNotDeletedWhileTheOneThatStartedItIsLive(t *testing.T) {
	onEachStore(t, func(d *env) {
		service := d.service(recording.NewWork(d.Raw, d.Clock, system.Random{}))
		parent := d.aRun(name, "", unfinished)
		item := d.aRun(name, "", func(s *run.State) { below(parent)(s); s.Cause, s.Item = run.CauseItem, []byte(`1`) })
		child := d.aRun(name, "", below(parent))
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			_, err := st.Runs.Runs.Start(ctx, parent, item, child)
			return err
		})
		for _, one := range []*run.Run{item, child} {
			d.WantCode(service.DeleteRun(d.Context(), d.Caller, one.ID()), domain.Conflict, "run_not_finished")
			d.Do(func(ctx context.Context, st outbound.Stores) error {
				removed, err := st.Erasures.DeleteRuns(ctx, d.Owner, outbound.RunTraces{}, one.ID())
				if removed.Runs != 0 {
					d.Errorf("%d runs were removed", removed.Runs)
				}
				return err
			})
		}
		if _, err := d.Runs.Cancel(d.Context(), d.Caller, domain.IdempotencyKey{}, parent.ID(), ""); err != nil {
			d.Fatal(err)
		}
		for _, one := range []*run.Run{item, child} {
			if err := service.DeleteRun(d.Context(), d.Caller, one.ID()); err != nil {
				d.Error(err)
			}
		}
		if n := d.count("runs"); n != 1 {
			d.Errorf("%d runs are left", n)
		}
	})
}

func TestNothingIsDeletedWhileARunFarBelowIsLive(t *testing.T) {
	onEachStore(t, func(d *env) {
		service := d.service(recording.NewWork(d.Raw, d.Clock, system.Random{}))
		parent := d.aRun("else", "team", nil)
		all := []*run.Run{parent}
		for range 150 { // more than are removed at once
			all = append(all, d.aRun("else", "", below(parent)))
		}
		live := d.aRun("else", "", func(s *run.State) { below(all[150])(s); unfinished(s) })
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			_, err := st.Runs.Runs.Start(ctx, append(all, live)...)
			return err
		})
		who := d.Caller
		who.Scope = tenant.Only(d.Owner, "team")
		d.WantCode(service.DeleteRun(d.Context(), who, parent.ID()), domain.Conflict, "run_not_finished")
		if n := d.count("runs"); n != 152 {
			d.Errorf("%d runs are left", n)
		}
		if _, err := d.Runs.Cancel(d.Context(), d.Caller, domain.IdempotencyKey{}, live.ID(), ""); err != nil {
			d.Fatal(err)
		}
		if err := service.DeleteRun(d.Context(), who, parent.ID()); err != nil {
			d.Fatal(err)
		}
		if n := d.count("runs"); n != 0 {
			d.Errorf("%d runs are left", n)
		}
		d.WantCode(service.DeleteRun(d.Context(), who, parent.ID()), domain.NotFound, "run_not_found")
	})
}

func TestNoticesOfOthersStayWhenASubTenantIsErased(t *testing.T) {
	d := newEnv(fixture.New(t, sqlitetest.Open(t)))
	own, theirs := `p {"t":"`+string(d.Owner)+`","s":"run","i":"own"}`, `p {"t":"tenant_else","s":"run","i":"else"}`
	other := `p {"t":"` + string(d.Owner) + `","s":"b","k":"run","i":"other"}`
	touch := func(statement string, payload string) (n int64) {
		if err := d.Raw.Statements(d.Context(), func(u *core.Unit) (err error) {
			n, err = u.Exec(d.Context(), "touch notices", statement, payload)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, payload := range []string{own, theirs, other} {
		touch(`INSERT INTO notices (topic, payload) VALUES ('sluice_lists', $1)`, payload)
	}
	sub := tenant.SubTenantID("run")
	d.erase(d.Raw, job.ErasureDraft{SubTenant: &sub})
	for payload, want := range map[string]int64{own: 0, theirs: 1, other: 1} {
		if n := touch(`UPDATE notices SET topic = topic WHERE payload = $1`, payload); n != want {
			t.Errorf("%d of %s are left", n, payload)
		}
	}
}
