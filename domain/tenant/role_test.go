package tenant_test

import (
	"errors"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestEachRoleMayWhatTheOneBeforeMay(t *testing.T) {
	for _, p := range tenant.Permissions() {
		if !p.Role.Valid() {
			t.Errorf("%s says of no role that it may", p.Operation)
		}
		before := false
		for _, role := range tenant.Roles() {
			who := tenant.Caller{Scope: tenant.All("tenant_1"), KeyType: tenant.Session, Member: tenant.Member{User: "usr_1", Role: role}}
			err := who.May(p.Operation)
			if before && err != nil || role == tenant.AdminRole && err != nil {
				t.Errorf("%s may not %s: %v", role, p.Operation, err)
			}
			if before = err == nil; before != role.Includes(p.Role) {
				t.Errorf("%s, and %s: %v", role, p.Operation, err)
			}
		}
	}
}

func TestRolesAreWhatTheyAreCalled(t *testing.T) {
	for operation, least := range map[tenant.Operation]tenant.Role{
		tenant.ReadRuns: tenant.ViewerRole, tenant.ReadWorkflows: tenant.ViewerRole, tenant.FollowLists: tenant.ViewerRole,
		tenant.AnswerPause: tenant.ApproverRole, tenant.RetryRun: tenant.ApproverRole, tenant.CancelRun: tenant.ApproverRole, tenant.StartJob: tenant.ApproverRole,
		tenant.ChangeVersion: tenant.EditorRole, tenant.PublishVersion: tenant.EditorRole, tenant.FireTrigger: tenant.EditorRole, tenant.CreateConnection: tenant.EditorRole,
		tenant.ReadKeys: tenant.AdminRole, tenant.CreateKey: tenant.AdminRole, tenant.CreateEmbedToken: tenant.AdminRole, tenant.ChangeSettings: tenant.AdminRole,
	} {
		for i, role := range tenant.Roles() {
			who := tenant.Caller{Scope: tenant.All("tenant_1"), KeyType: tenant.Session, Member: tenant.Member{User: "usr_1", Role: role}}
			err := who.May(operation)
			var e *domain.Error
			switch may := tenant.Roles()[i].Includes(least); {
			case may && err != nil:
				t.Errorf("%s may not %s: %v", role, operation, err)
			case !may && (!errors.As(err, &e) || e.Kind != domain.Forbidden || e.Code != "role_not_allowed"):
				t.Errorf("%s may %s: %v", role, operation, err)
			}
		}
	}
}

func TestASessionWithoutARoleMayNothing(t *testing.T) {
	for _, role := range []tenant.Role{"", "owner"} {
		for _, p := range tenant.Permissions() {
			who := tenant.Caller{Scope: tenant.All("tenant_1"), KeyType: tenant.Session, Member: tenant.Member{User: "usr_1", Role: role}}
			if err := who.May(p.Operation); !errors.Is(err, domain.Forbidden) {
				t.Errorf("the role %q may %s", role, p.Operation)
			}
		}
	}
	who := tenant.Caller{KeyType: tenant.Session, Member: tenant.Member{Role: tenant.AdminRole}}
	if err := who.May("unheard of"); !errors.Is(err, domain.Forbidden) {
		t.Errorf("an admin may what is in no row: %v", err)
	}
	for _, p := range tenant.Permissions() {
		if access, ok := p.Operation.Access(tenant.Session); !ok || access != tenant.Allowed {
			t.Errorf("%s is %s to members", p.Operation, access)
		}
	}
}
