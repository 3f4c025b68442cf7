package domain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
)

func TestRulesReportEveryBrokenOneInOrder(t *testing.T) {
	var r domain.Rules
	r.Check(true, "fine", domain.Required, "is not looked at")
	r.Check(false, "b", domain.TooSmall, "must be at least %d", 5)
	r.Text("", "a", 1, 10)
	r.Add(domain.Violation{Field: "c[0].d", Code: domain.Unknown, Message: "is unknown"})
	err := r.Err("thing_invalid", "The thing is not valid.")
	var e *domain.Error
	if !errors.As(err, &e) || !errors.Is(err, domain.Invalid) || e.Code != "thing_invalid" {
		t.Fatalf("the error is %v", err)
	}
	want := []domain.Violation{
		{Field: "b", Code: domain.TooSmall, Message: "must be at least 5"},
		{Field: "a", Code: domain.Required, Message: "must not be empty"},
		{Field: "c[0].d", Code: domain.Unknown, Message: "is unknown"},
	}
	if diff := cmp.Diff(want, e.Violations); diff != "" {
		t.Error(diff)
	}
	if got, want := err.Error(), "thing_invalid: The thing is not valid.; b must be at least 5; a must not be empty; c[0].d is unknown"; got != want {
		t.Errorf("the text is %q, not %q", got, want)
	}
}

func TestAFieldIsReportedOnce(t *testing.T) {
	var r domain.Rules
	r.Check(false, "name", domain.WrongType, "must be a string, not a number")
	r.Text("", "name", 1, 10)
	r.Check(false, "name.x", domain.Unknown, "is another field")
	if got := len(r.Violations()); got != 2 || !r.Broken("name") || r.Broken("nam") {
		t.Errorf("%d violations: %v", got, r.Violations())
	}
}

func TestNoBrokenRuleIsNoError(t *testing.T) {
	var r domain.Rules
	r.Text("é", "name", 1, 1)
	if err := r.Err("x", "y"); err != nil {
		t.Errorf("the error is %v", err)
	}
}

func TestTextCountsCharactersAndRefusesWhatCannotBeStored(t *testing.T) {
	for claim, c := range map[string]struct {
		text     string
		min, max int
		want     domain.ViolationCode
	}{
		"as many characters as permitted, however many bytes": {strings.Repeat("漢", 5), 1, 5, ""},
		"one character too many":                              {strings.Repeat("漢", 6), 1, 5, domain.TooLong},
		"one character too few":                               {"ab", 3, 5, domain.TooShort},
		"nothing where something must stand":                  {"", 1, 5, domain.Required},
		"nothing where nothing is fine":                       {"", 0, 5, ""},
		"a NUL":                                               {"a\x00b", 1, 5, domain.BadText},
		"bytes that are not UTF-8":                            {"a\xff", 1, 5, domain.BadText},
	} {
		t.Run(claim, func(t *testing.T) {
			var r domain.Rules
			r.Text(c.text, "f", c.min, c.max)
			var got domain.ViolationCode
			if v := r.Violations(); len(v) > 0 {
				got = v[0].Code
			}
			if got != c.want {
				t.Errorf("the finding is %q, not %q", got, c.want)
			}
		})
	}
}

func TestAKindIsFoundThroughWhateverWrapsIt(t *testing.T) {
	cause := errors.New("the cause")
	err := fmt.Errorf("get: %w", domain.Fail(domain.NotFound, "thing_not_found", "There is no %s.", "thing").Because(cause))
	if !errors.Is(err, domain.NotFound) || errors.Is(err, domain.Conflict) || !errors.Is(err, cause) {
		t.Errorf("%v is not what it should be", err)
	}
	for _, c := range []struct {
		err  error
		want domain.Kind
	}{{err, domain.NotFound}, {fmt.Errorf("x: %w", domain.Forbidden), domain.Forbidden}, {cause, domain.Internal}} {
		if got := domain.KindOf(c.err); got != c.want {
			t.Errorf("the kind of %v is %s, not %s", c.err, got, c.want)
		}
	}
}

func TestPathsReadAsTheClientWroteThem(t *testing.T) {
	got := domain.Member(domain.Index(domain.Member("", "nodes"), 2), "id")
	if got != "nodes[2].id" {
		t.Errorf("the path is %q", got)
	}
	for want, values := range map[string][]string{`"a"`: {"a"}, `"a" or "b"`: {"a", "b"}, `"a", "b" or "c"`: {"a", "b", "c"}} {
		if got := domain.OneOf(values...); got != want {
			t.Errorf("%v reads %s", values, got)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	const suffix = "01kg2m8qpefx4tsjvnb6ax0c9d"
	for id, want := range map[string]bool{
		"trg_" + suffix: true, "trg_7zzzzzzzzzzzzzzzzzzzzzzzzz": true,
		"": false, "trg_": false, "wf_" + suffix: false, "trg" + suffix: false, "trg-" + suffix: false,
		"trg_" + suffix + "0": false, "trg_" + suffix[1:]: false, "trg_8zzzzzzzzzzzzzzzzzzzzzzzzz": false,
		"trg_01KG2M8QPEFX4TSJVNB6AX0C9D": false, "trg_0ikg2m8qpefx4tsjvnb6ax0c9d": false, "trg_0\x00kg2m8qpefx4tsjvnb6ax0c9": false,
	} {
		if got := domain.ValidIdentifier(id, "trg"); got != want {
			t.Errorf("%q is an identifier: %v", id, got)
		}
	}
}

func TestADocumentComesBackAsItWasSent(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1.50,"a":{"z":null}}`: `{"b":1.50,"a":{"z":null}}`,
		"{ \"a\" : 1e400 }":         `{ "a" : 1e400 }`,
		"{}":                        "{}",
	} {
		if doc := domain.RestoreDocument(text); doc.String() != want || domain.RestoreDocument(doc.String()) != doc {
			t.Errorf("%q came back as %q", text, doc.String())
		}
	}
	if (domain.Document{}).String() != "{}" || domain.RestoreDocument("{}") != (domain.Document{}) {
		t.Error("the zero document is not the empty object")
	}
}

func TestPageRequests(t *testing.T) {
	if p := (domain.PageRequest{}); p.Limit() != 20 || p.Offset() != 0 {
		t.Errorf("the default page is %d at %d", p.Limit(), p.Offset())
	}
	if p, err := domain.NewPageRequest(100, 7); err != nil || p.Limit() != 100 || p.Offset() != 7 {
		t.Errorf("the page is %d at %d, %v", p.Limit(), p.Offset(), err)
	}
	for _, c := range []struct {
		limit, offset int
		fields        string
	}{{0, 0, "limit"}, {101, 0, "limit"}, {1, -1, "offset"}, {0, -1, "limit offset"}} {
		_, err := domain.NewPageRequest(c.limit, c.offset)
		var e *domain.Error
		if !errors.As(err, &e) {
			t.Fatalf("%d at %d: %v", c.limit, c.offset, err)
		}
		var fields []string
		for _, v := range e.Violations {
			fields = append(fields, v.Field)
		}
		if got := strings.Join(fields, " "); got != c.fields {
			t.Errorf("%d at %d: %s", c.limit, c.offset, got)
		}
	}
}

func TestAPageKnowsWhetherMoreFollow(t *testing.T) {
	for _, c := range []struct {
		offset, items, total int
		more                 bool
	}{{0, 2, 3, true}, {1, 2, 3, false}, {5, 0, 3, false}, {0, 0, 0, false}} {
		p := domain.Page[int]{Items: make([]int, c.items), Offset: c.offset, Total: c.total}
		if p.HasMore() != c.more {
			t.Errorf("%+v: more is %v", c, p.HasMore())
		}
	}
}

func TestOnce(t *testing.T) {
	idempotency := domain.IdempotencyKey{Key: "k", Fingerprint: "same"}
	if !idempotency.Wanted() || (domain.IdempotencyKey{}).Wanted() {
		t.Error("a key is what asks for once")
	}
	var replay *domain.Replay
	if err := idempotency.CheckReplay("same", []byte("answer")); !errors.As(err, &replay) || string(replay.Answer) != "answer" {
		t.Errorf("the repeat got %v", err)
	}
	var e *domain.Error
	if err := idempotency.CheckReplay("other", nil); !errors.As(err, &e) || e.Code != "idempotency_key_reused" || e.Kind != domain.Invalid {
		t.Errorf("another request got %v", err)
	}
	if e := domain.OnceInProgress(); e.RetryAfter != time.Second || e.Kind != domain.Conflict {
		t.Errorf("meanwhile: %v", e)
	}
}
