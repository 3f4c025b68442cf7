package inbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Admission decides who is asking and whether they may.
type Admission interface {
	// Admit checks, in this order: the text of the API key, whether its tenant is
	// active, the tenant's quota for that type of key, and whether a key of that type
	// may perform the operation. Of a member it checks the session, its quota, whether the user is
	// a member of the tenant, and the role.
	//
	// A text that is empty, malformed, unknown, expired or revoked, and the key of a
	// suspended tenant, are all the same Unauthenticated error with the code
	// unauthenticated, so that nobody learns which. Too many requests in a minute are
	// RateLimited with the code rate_limit_exceeded, too many at the same time with
	// too_many_concurrent_requests. A key of the wrong type is Forbidden with the code
	// key_type_not_allowed, and so are one whose rights or whose scope are not enough
	// (permission_missing, outside_scope) and a token from a page of another origin
	// (origin_not_allowed). Members get the errors of [MemberSessions], and one whose role is not
	// enough is Forbidden with the code role_not_allowed.
	//
	// What was found out before an error is in the answer next to it. Leave is never
	// nil and must be called when the request is done.
	Admit(ctx context.Context, with Credentials, op tenant.Operation) (Admitted, error)

	// Confirm says whether somebody who was admitted still may, for an answer that lasts:
	// nil, or the Unauthenticated, NotFound or Forbidden error of Admit. It counts nothing, and is
	// cheap enough to be asked every few seconds for each of them.
	Confirm(ctx context.Context, with Credentials, op tenant.Operation) error
}

// Credentials are what a request says of who makes it: a key or a member, never both.
type Credentials struct {
	Key    string          // the text of a key or an embed token
	Origin string          // of the page of another origin that makes it in a browser, as the header Origin has it; empty for none
	Member *MemberOfTenant // nil for who uses a key
}

// MemberOfTenant is a request by a session of the console.
type MemberOfTenant struct {
	Session member.Token // the zero value for none
	Tenant  tenant.ID    // that it is about
}

// MemberSessions recognizes members of tenants by their sessions.
type MemberSessions interface {
	// RecognizeMember returns who asks, as the session, the user, the membership and the tenant are now, and notes the
	// use of the session. A session that is unknown or has ended, and the session of a disabled user, are
	// Unauthenticated with the code signed_out. A tenant that is unknown or not active, and one that the user is no
	// member of, are the same NotFound error with the code tenant_not_found; the session is in the caller next to it.
	RecognizeMember(ctx context.Context, of MemberOfTenant) (tenant.Caller, error)

	// ConfirmMember is RecognizeMember without being a use of the session.
	ConfirmMember(ctx context.Context, of MemberOfTenant) (tenant.Caller, error)
}

// Admitted is what is known about a request once its key was recognized.
type Admitted struct {
	Caller    tenant.Caller
	Allowance *Allowance // nil while the caller is unknown
	Leave     func()     // gives the request's place back
}

// Allowance is what is left of a caller's requests in the sliding minute.
type Allowance struct {
	Limit     int       // requests in any 60 seconds
	Remaining int       // how many of them are left now
	Reset     time.Time // when all of them are available again, if none is made until then
}
