package console

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

// texts reads members of a body that are required, which may be empty.
func texts(c *gin.Context, names ...string) ([]string, error) {
	type read struct {
		values []string
		err    error
	}
	got, err := exchange.ReadBody(c, func(body jsonread.Object) read {
		var r domain.Rules
		var values []string
		for _, name := range names {
			value, present := body.String(name, &r)
			r.Check(present, name, domain.Required, "must be given")
			values = append(values, value)
		}
		return read{values, r.Err("request_invalid", "The request is not valid.")}
	})
	if err != nil {
		return nil, err
	}
	return got.values, got.err
}

// signIn answers POST /session.
func (a *Console) signIn(c *gin.Context) error {
	given, err := texts(c, "email", "password")
	if err != nil {
		return err
	}
	s, err := a.accounts.SignIn(c.Request.Context(), inbound.Login{Email: given[0], Password: given[1]}, a.browser(c))
	if err != nil {
		return err
	}
	a.begun(c, s)
	return exchange.NoContent(c)
}

type accountBody struct {
	User        userBody         `json:"user"`
	SessionID   string           `json:"sessionId"`
	EndsAt      string           `json:"endsAt"`
	Memberships []membershipBody `json:"memberships"`
}

type userBody struct {
	ID          string `json:"id"`
	Email       string `json:"email"`
	Name        string `json:"name"`
	Language    string `json:"language"`
	IsOperator  bool   `json:"isOperator"`
	HasPassword bool   `json:"hasPassword"`
}

type membershipBody struct {
	ID         string `json:"id"`
	TenantID   string `json:"tenantId"`
	TenantName string `json:"tenantName"`
	Role       string `json:"role"`
	Language   string `json:"language"`
}

// Account returns who is signed in. It counts as a request of the session.
func (a *Console) Account(c *gin.Context) (who inbound.Account, err error) {
	token, err := a.session(c)
	if err != nil {
		return who, err
	}
	return a.accounts.WhoAmI(c.Request.Context(), token)
}

// whoAmI answers GET /session.
func (a *Console) whoAmI(c *gin.Context) error {
	who, err := a.Account(c)
	if err != nil {
		return err
	}
	u := who.User
	body := accountBody{
		User:      userBody{ID: string(u.ID()), Email: string(u.Email()), Name: u.Name(), Language: string(u.Language()), IsOperator: u.IsOperator(), HasPassword: u.PasswordHash() != ""},
		SessionID: string(who.Session.ID()), EndsAt: exchange.Timestamp(who.Session.EndsAt()), Memberships: []membershipBody{},
	}
	for _, m := range who.Memberships {
		body.Memberships = append(body.Memberships, membershipBody{
			ID: string(m.Membership.ID()), TenantID: string(m.Membership.Tenant()), TenantName: m.TenantName, Role: string(m.Membership.Role()), Language: string(m.Language),
		})
	}
	return exchange.WriteJSON(c, http.StatusOK, body)
}

// changeUser answers PATCH /session.
func (a *Console) changeUser(c *gin.Context) error {
	token, err := a.session(c)
	if err != nil {
		return err
	}
	given, err := texts(c, "language")
	if err != nil {
		return err
	}
	if err := a.accounts.ChooseLanguage(c.Request.Context(), token, tenant.Language(given[0])); err != nil {
		return err
	}
	return exchange.NoContent(c)
}

// signOut answers DELETE /session.
func (a *Console) signOut(c *gin.Context) error {
	if token, ok := a.Session(c.Request); ok {
		if err := a.accounts.SignOut(c.Request.Context(), token); err != nil {
			return err
		}
	}
	a.ended(c)
	return exchange.NoContent(c)
}

type sessionsBody struct {
	Items []sessionBody `json:"items"`
}

type sessionBody struct {
	ID         string `json:"id"`
	IsCurrent  bool   `json:"isCurrent"`
	Agent      string `json:"agent"`
	Address    string `json:"address"`
	CreatedAt  string `json:"createdAt"`
	LastUsedAt string `json:"lastUsedAt"`
	EndsAt     string `json:"endsAt"`
}

// listSessions answers GET /sessions.
func (a *Console) listSessions(c *gin.Context) error {
	token, err := a.session(c)
	if err != nil {
		return err
	}
	own, err := a.accounts.Sessions(c.Request.Context(), token)
	if err != nil {
		return err
	}
	body := sessionsBody{Items: []sessionBody{}}
	for _, one := range own.Sessions {
		st := one.State()
		body.Items = append(body.Items, sessionBody{
			ID: string(st.ID), IsCurrent: st.ID == own.Current, Agent: st.Agent, Address: st.Address,
			CreatedAt: exchange.Timestamp(st.CreatedAt), LastUsedAt: exchange.Timestamp(st.LastUsedAt), EndsAt: exchange.Timestamp(one.EndsAt()),
		})
	}
	return exchange.WriteJSON(c, http.StatusOK, body)
}

// endSession answers DELETE /sessions/{id}.
func (a *Console) endSession(c *gin.Context) error {
	token, err := a.session(c)
	if err != nil {
		return err
	}
	if err := a.accounts.EndSession(c.Request.Context(), token, exchange.PathID[member.SessionID](c, "id", member.SessionIDPrefix)); err != nil {
		return err
	}
	return exchange.NoContent(c)
}

// changePassword answers POST /password.
func (a *Console) changePassword(c *gin.Context) error {
	token, err := a.session(c)
	if err != nil {
		return err
	}
	given, err := texts(c, "current", "new")
	if err != nil {
		return err
	}
	if err := a.accounts.ChangePassword(c.Request.Context(), token, given[0], given[1]); err != nil {
		return err
	}
	return exchange.NoContent(c)
}

// askForPassword answers POST /forgotten-password.
func (a *Console) askForPassword(c *gin.Context) error {
	given, err := texts(c, "email")
	if err != nil {
		return err
	}
	if err := a.ask(c, given[0]); err != nil {
		return err
	}
	return exchange.NoContent(c)
}

// ask has a link mailed by which somebody chooses another password.
func (a *Console) ask(c *gin.Context, email string) error {
	if !a.forgotten.CanAsk() {
		return errNoMail()
	}
	return a.forgotten.Ask(c.Request.Context(), email, a.browser(c))
}

func errNoMail() error {
	return domain.Fail(domain.NotFound, "mail_missing", "The gateway has no mail server. Ask who invited you for a link.")
}

// useLink answers POST /links/{token}.
func (a *Console) useLink(c *gin.Context) error {
	type read struct {
		password string
		err      error
	}
	given, err := exchange.ReadBody(c, func(body jsonread.Object) read {
		var r domain.Rules
		password, _ := body.String("password", &r)
		return read{password, r.Err("request_invalid", "The request is not valid.")}
	})
	if err == nil {
		err = given.err
	}
	if err != nil {
		return err
	}
	link, ok := member.ParseToken(c.Param("token"))
	if !ok {
		return member.LinkEnded()
	}
	s, err := a.accounts.UseLink(c.Request.Context(), link, given.password, a.browser(c))
	if err != nil {
		return err
	}
	a.begun(c, s)
	return exchange.NoContent(c)
}
