package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// memberRoutes is what members do with members, and keys never.
func (a *API) memberRoutes() []route {
	return []route{
		{http.MethodGet, prefix + "/members", tenant.ReadMembers, a.listMembers},
		{http.MethodPost, prefix + "/members", tenant.AddMember, a.addMember},
		{http.MethodPatch, prefix + "/members/:id", tenant.ChangeMember, a.changeMember},
		{http.MethodDelete, prefix + "/members/:id", tenant.RemoveMember, a.removeMember},
	}
}

// memberBody is a member as admins see it.
type memberBody struct {
	ID         string `json:"id"`
	UserID     string `json:"userId"`
	Email      string `json:"email"`
	Name       string `json:"name"`
	Role       string `json:"role"`
	HasEntered bool   `json:"hasEntered"`
	IsDisabled bool   `json:"isDisabled"`
	CreatedAt  string `json:"createdAt"`
	Link       string `json:"link,omitempty"`
	IsMailed   *bool  `json:"isMailed,omitempty"`
}

func memberBodyOf(m inbound.Member) memberBody {
	return memberBody{
		ID: string(m.Membership.ID()), UserID: string(m.User.ID()), Email: string(m.User.Email()), Name: m.User.Name(), Role: string(m.Membership.Role()),
		HasEntered: m.User.HasEntered(), IsDisabled: m.User.IsDisabled(), CreatedAt: exchange.Timestamp(m.Membership.CreatedAt()),
	}
}

func renderMember(m inbound.Member) any { return memberBodyOf(m) }

// renderAddedMember also shows the invitation, if there is one and it may be seen, and whether one is mailed.
func renderAddedMember(added inbound.AddedMember) any {
	body := memberBodyOf(added.Member)
	body.Link = added.Link
	if added.Mailed {
		body.IsMailed = &added.Mailed
	}
	return body
}

// listMembers answers GET /members.
func (a *API) listMembers(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c)
	if err != nil {
		return err
	}
	return exchange.AnswerList(c, l, renderMember, func(q domain.Query) (domain.Page[inbound.Member], error) {
		return a.ports.Memberships.List(c.Request.Context(), who, q.PageRequest)
	})
}

// addMember answers POST /members.
func (a *API) addMember(c *gin.Context, who tenant.Caller) error {
	var r domain.Rules
	draft, err := exchange.ReadResource[memberBody](c, func(body jsonread.Object) (d inbound.MemberDraft) {
		d.Email, _ = body.String("email", &r)
		role, _ := body.String("role", &r)
		d.Role = tenant.Role(role)
		return d
	})
	if err != nil {
		return err
	}
	if err := r.Err("member_invalid", "The member is not valid."); err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[inbound.AddedMember]{
		Status: http.StatusCreated, Render: renderAddedMember, Revision: inbound.AddedMember.Revision, Record: exchange.Record(memberBodyOf),
		Run: func(idempotency domain.IdempotencyKey) (inbound.AddedMember, error) {
			return a.ports.Memberships.Add(c.Request.Context(), who, idempotency, draft)
		},
	})
}

func membershipID(c *gin.Context) member.MembershipID {
	return exchange.PathID[member.MembershipID](c, "id", member.MembershipIDPrefix)
}

// changeMember answers PATCH /members/{id}.
func (a *API) changeMember(c *gin.Context, who tenant.Caller) error {
	var r domain.Rules
	role, err := exchange.ReadResource[memberBody](c, func(body jsonread.Object) string {
		role, _ := body.String("role", &r)
		return role
	})
	if err != nil {
		return err
	}
	if err := r.Err("member_invalid", "The member is not valid."); err != nil {
		return err
	}
	changed, err := a.ports.Memberships.Change(c.Request.Context(), who, membershipID(c), exchange.Expected(c), tenant.Role(role))
	return exchange.AnswerRecord(c, changed, err, renderMember)
}

// removeMember answers DELETE /members/{id}.
func (a *API) removeMember(c *gin.Context, who tenant.Caller) error {
	return exchange.Delete(c, func() error {
		return a.ports.Memberships.End(c.Request.Context(), who, membershipID(c), exchange.Expected(c))
	})
}
