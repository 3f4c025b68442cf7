package job_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newJob(t *testing.T, action job.Action, f run.Filter) *job.Job {
	t.Helper()
	j, err := job.New("job_1", tenant.All("tenant_1"), job.Draft{Action: action, Filter: &f}, noon)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestADraftSaysWhichRunsAreMeant(t *testing.T) {
	long := strings.Repeat("a", run.MaxEntity+1)
	for claim, c := range map[string]struct {
		draft job.Draft
		want  []string
	}{
		"an action and an empty filter are enough": {job.Draft{Action: job.Rerun, Filter: &run.Filter{}}, nil},
		"both are needed":                          {job.Draft{}, []string{"action required", "filter required"}},
		"an action must be one of those":           {job.Draft{Action: "delete", Filter: &run.Filter{Status: run.StatusFailed}}, []string{"action not_allowed"}},
		"a status must fit the action":             {job.Draft{Action: job.Retry, Filter: &run.Filter{Status: run.StatusCompleted}}, []string{"filter.status not_allowed"}},
		"what has ended cannot be cancelled":       {job.Draft{Action: job.Cancel, Filter: &run.Filter{Status: run.StatusFailed}}, []string{"filter.status not_allowed"}},
		"texts are bounded":                        {job.Draft{Action: job.Cancel, Filter: &run.Filter{Entity: &long}}, []string{"filter.entityId too_long"}},
		"what cannot be read is reported, too": {
			job.Draft{Action: job.Cancel, Malformed: []domain.Violation{{Field: "filter", Code: domain.WrongType}}}, []string{"filter wrong_type"},
		},
	} {
		_, err := job.New("job_1", tenant.All("tenant_1"), c.draft, noon)
		var e *domain.Error
		var got []string
		if errors.As(err, &e) {
			for _, v := range e.Violations {
				got = append(got, v.Field+" "+string(v.Code))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", claim, err)
		}
	}
}

func TestAJobHasNoMoreRunsThanPermitted(t *testing.T) {
	j := newJob(t, job.Cancel, run.Filter{})
	err := j.Begin(job.MaxRuns+1, noon)
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != "too_many_runs" || len(e.Violations) != 1 || e.Violations[0].Field != "filter" {
		t.Errorf("the error is %v", err)
	}
	if err := j.Begin(job.MaxRuns, noon); err != nil || j.Matched() != job.MaxRuns || j.Status() != job.Running {
		t.Errorf("%d runs: %v", j.Matched(), err)
	}
}

func TestAJobEndsWhenItHasComeToAllRuns(t *testing.T) {
	j := newJob(t, job.Retry, run.Filter{})
	if err := j.Begin(60, noon); err != nil {
		t.Fatal(err)
	}
	var failures []job.Failure
	for i := range 15 {
		failures = append(failures, job.Failure{Run: run.ID(fmt.Sprint("run_", i)), Code: "run_not_failed"})
	}
	for i, c := range []struct {
		runs         int
		done, failed int
		kept         int
		status       job.Status
	}{{20, 5, 15, 15, job.Running}, {20, 10, 30, 20, job.Running}, {20, 15, 45, 20, job.Completed}} {
		at := noon.Add(time.Duration(i) * time.Second)
		last := run.ID(fmt.Sprint("run_", i))
		j.Record(c.runs, last, failures, at)
		if j.Done() != c.done || j.Failed() != c.failed || len(j.Failures()) != c.kept || j.Status() != c.status || j.Cursor() != last || !j.UpdatedAt().Equal(at) {
			t.Errorf("after %d batches it is %+v", i+1, j.State())
		}
	}
	if j.FinishedAt() == nil || !j.FinishedAt().Equal(noon.Add(2*time.Second)) || j.Failures()[19].Run != "run_4" {
		t.Errorf("it ended as %+v", j.State())
	}
	if err := j.Cancel(noon); !errors.Is(err, domain.Conflict) {
		t.Errorf("a job that has ended was cancelled: %v", err)
	}
}

func TestAJobWithoutRunsHasEnded(t *testing.T) {
	j := newJob(t, job.Cancel, run.Filter{})
	if err := j.Begin(0, noon); err != nil || j.Status() != job.Completed || j.FinishedAt() == nil {
		t.Errorf("it is %+v: %v", j.State(), err)
	}
}

func TestACancelledJobKeepsWhatItHasDone(t *testing.T) {
	j := newJob(t, job.Cancel, run.Filter{Status: run.StatusPaused})
	if err := j.Begin(3, noon); err != nil {
		t.Fatal(err)
	}
	j.Record(1, "run_1", nil, noon.Add(time.Second))
	if err := j.Cancel(noon); err != nil || j.Status() != job.Cancelled || j.Done() != 1 || !j.FinishedAt().Equal(noon.Add(time.Second)) {
		t.Errorf("it is %+v: %v", j.State(), err)
	}
	if got := j.Statuses(); !slices.Equal(got, []run.Status{run.StatusPaused}) {
		t.Errorf("it takes %v", got)
	}
	if at := j.After(noon.Add(-time.Hour)); !at.Equal(noon) {
		t.Errorf("a process whose clock is behind makes runs at %s", at)
	}
}

func TestWhatMentionsAName(t *testing.T) {
	for text, want := range map[string]bool{
		`{"to":["anna@example.com"]}`: true, `{"anna@example.com":1}`: true, `{"\u0061nna@example.com":1}`: true, `{"link":"/a?to=anna%40example.com"}`: true,
		`to=anna%40example.com&x=1`: true, `to: anna@example.com.`: true,
		`{"to":"joanna@example.com"}`: false, `{"to":"anna@example.community"}`: false, `{"to":"anna"}`: false, ``: false,
	} {
		if job.Mentions([]byte(text), "anna@example.com") != want {
			t.Errorf("%s: not %v", text, want)
		}
	}
	for text, want := range map[string]bool{`{"id":"17"}`: true, `{"id":17}`: true, `{"id":"step 17"}`: false, `{"id":170}`: false} {
		if job.Mentions([]byte(text), "17") != want {
			t.Errorf("%s: not %v", text, want)
		}
	}
}

func TestAnErasureIsAboutOne(t *testing.T) {
	entity, empty, sub := "a", "", tenant.SubTenantID("b")
	for claim, c := range map[string]struct {
		draft job.ErasureDraft
		want  []string
	}{
		"an entity":   {job.ErasureDraft{Entity: &entity}, nil},
		"nobody":      {job.ErasureDraft{}, []string{"entityId required"}},
		"two":         {job.ErasureDraft{Entity: &entity, SubTenant: &sub}, []string{"entityId conflicting"}},
		"an empty id": {job.ErasureDraft{Entity: &empty}, []string{"entityId required"}},
		"a filter":    {job.ErasureDraft{Filter: &run.Filter{}}, nil},
	} {
		_, err := job.NewErasure("job_1", tenant.All("tenant_1"), c.draft, noon)
		var e *domain.Error
		var got []string
		if errors.As(err, &e) {
			for _, v := range e.Violations {
				got = append(got, v.Field+" "+string(v.Code))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", claim, err)
		}
	}
}

// The digest is that of the text which the handbook shows.
func TestAnErasureRemembersADigestAndNotTheName(t *testing.T) {
	entity := "order-1042"
	j, err := job.NewErasure("job_1", tenant.All("tenant_1"), job.ErasureDraft{Entity: &entity}, noon)
	if err != nil {
		t.Fatal(err)
	}
	want := sha256.Sum256([]byte(`{"entityId":"order-1042"}`))
	if j.Name() != entity || j.Erasure().Asked != hex.EncodeToString(want[:]) || strings.Contains(fmt.Sprint(j.Facts()), entity) {
		t.Errorf("it is %+v, its facts are %v", j.State(), j.Facts())
	}
	for j.Status() == job.Running {
		j.PartErased(noon)
	}
	if j.Status() != job.Completed || strings.Contains(fmt.Sprint(j.State()), entity) || j.Name() != "" || j.Filter().Entity != nil {
		t.Errorf("it ended as %+v", j.State())
	}
}
