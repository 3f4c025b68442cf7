package main

import (
	"bytes"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestTimesInJSONHaveTheFormOfTheAPI(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("", 2*60*60)
	at := func(milliseconds int) time.Time {
		return time.Date(2026, 3, 4, 14, 5, 6, milliseconds*1_000_000, east)
	}
	whole, tenth, hundredth := at(0), at(500), at(110)
	ten := tenant.Restore(tenant.State{CreatedAt: whole, UpdatedAt: hundredth})
	used := tenant.RestoreAPIKey(tenant.KeyState{CreatedAt: at(123), LastUsedAt: &tenth, ExpiresAt: &whole, RevokedAt: &hundredth})
	unused := tenant.RestoreAPIKey(tenant.KeyState{CreatedAt: hundredth})
	for claim, c := range map[string]struct {
		document any
		want     []string
	}{
		"a tenant":      {showTenant(ten), []string{`"createdAt": "2026-03-04T12:05:06.000Z"`, `"updatedAt": "2026-03-04T12:05:06.110Z"`}},
		"an unused key": {showKey(unused), []string{`"createdAt": "2026-03-04T12:05:06.110Z"`}},
		"a used key": {showKey(used), []string{
			`"createdAt": "2026-03-04T12:05:06.123Z"`, `"lastUsedAt": "2026-03-04T12:05:06.500Z"`,
			`"expiresAt": "2026-03-04T12:05:06.000Z"`, `"revokedAt": "2026-03-04T12:05:06.110Z"`,
		}},
		"migrations": {
			statusJSON([]sqlstore.Migration{{Version: 1, AppliedAt: &tenth}, {Version: 2}}),
			[]string{`"appliedAt": "2026-03-04T12:05:06.500Z"`},
		},
	} {
		var out bytes.Buffer
		if err := (&program{stdout: &out}).printJSON(c.document); err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`"\w+At": [^,\n]*`).FindAllString(out.String(), -1)
		if diff := cmp.Diff(c.want, found); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestNoJSONDocumentHoldsATimeInAnotherForm(t *testing.T) {
	t.Parallel()
	for _, document := range []any{
		shownKey{}, shownTenant{}, shownMigration{}, createdTenant{}, deletedTenant{}, build{},
		createdLink{}, shownUser{}, addedMember{}, pageJSON[shownKey]{}, pageJSON[shownTenant]{}, pageJSON[shownUser]{}, pageJSON[shownMember]{},
	} {
		holdsNoBareTime(t, reflect.TypeOf(document), reflect.TypeOf(document).Name())
	}
}

// holdsNoBareTime fails a test if a time is anywhere in the type.
func holdsNoBareTime(t *testing.T, in reflect.Type, where string) {
	t.Helper()
	switch {
	case in == reflect.TypeFor[time.Time]():
		t.Errorf("%s is a time.Time; as an instant it would have the form of the API", where)
	case in == reflect.TypeFor[instant]():
	case in.Kind() == reflect.Pointer, in.Kind() == reflect.Slice, in.Kind() == reflect.Map:
		holdsNoBareTime(t, in.Elem(), where)
	case in.Kind() == reflect.Struct:
		for field := range in.Fields() {
			holdsNoBareTime(t, field.Type, where+"."+field.Name)
		}
	}
}
