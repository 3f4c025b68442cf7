package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	html "maragu.dev/gomponents"
	tag "maragu.dev/gomponents/html"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/htmlpage"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// consentLinkBody is a link for a person's consent.
type consentLinkBody struct {
	URL       string `json:"url,omitempty"`
	ExpiresAt string `json:"expiresAt"`
}

// authorizeConnection answers POST /connections/{id}/authorize.
func (a *API) authorizeConnection(c *gin.Context, who tenant.Caller) error {
	return exchange.ExecuteWithoutBody[connectionBody](c, who, exchange.Command[inbound.ConsentLink]{
		Status: http.StatusCreated,
		Render: func(l inbound.ConsentLink) any {
			return consentLinkBody{URL: l.URL, ExpiresAt: exchange.Timestamp(l.EndsAt)}
		},
		Record: exchange.Record(func(l inbound.ConsentLink) consentLinkBody { // the link is shown once
			return consentLinkBody{ExpiresAt: exchange.Timestamp(l.EndsAt)}
		}),
		Run: func(idempotency domain.IdempotencyKey) (inbound.ConsentLink, error) {
			return a.ports.Consents.Authorize(c.Request.Context(), who, idempotency, connectionID(c))
		},
	})
}

// grantBody is what an authorization server has given for a connection. It has no tokens.
type grantBody struct {
	Status       string            `json:"status"`
	NeedsConsent bool              `json:"needsConsent"`
	Scopes       []string          `json:"scopes"`
	IssuedAt     string            `json:"issuedAt,omitempty"`
	ExpiresAt    string            `json:"expiresAt,omitempty"`
	Failure      *grantFailureBody `json:"failure,omitempty"`
}

type grantFailureBody struct {
	Code     connection.FailureCode `json:"code"`
	Message  string                 `json:"message"`
	FailedAt string                 `json:"failedAt"`
}

func renderGrant(s inbound.GrantState) any {
	g := s.Grant
	body := grantBody{Status: "none", NeedsConsent: s.NeedsConsent, Scopes: append([]string{}, g.Scopes()...)}
	if at := g.IssuedAt(); at != nil {
		body.Status, body.IssuedAt = "active", exchange.Timestamp(*at)
	}
	if at := g.ExpiresAt(); at != nil {
		body.ExpiresAt = exchange.Timestamp(*at)
	}
	if f := g.Failure(); f != nil {
		body.Status, body.Failure = "failing", &grantFailureBody{f.Code, f.Message, exchange.Timestamp(f.At)}
	}
	if s.NeedsConsent {
		body.Status = "needsConsent"
	}
	return body
}

// getGrant answers GET /connections/{id}/grant.
func (a *API) getGrant(c *gin.Context, who tenant.Caller) error {
	state, err := a.ports.Consents.State(c.Request.Context(), who, connectionID(c))
	return exchange.Answer(c, state, err, renderGrant)
}

// Where people come. Neither takes a key.
const (
	consentPath  = "/oauth/consent/:link"
	callbackPath = "/oauth/callback"
)

// serveConsent adds the pages on which people consent.
func (a *API) serveConsent() {
	a.engine.GET(consentPath, a.openConsent)
	a.engine.GET(callbackPath, a.completeConsent)
}

// maxConsentText bounds what a browser brings, in bytes of each value.
const maxConsentText = 8 << 10

// openConsent tells a person what a link is for, and gives the browser the key without which nobody comes back. It is a
// page and no redirect: a site that sends people here without their doing would otherwise get at the consent
// that they have given before, of which most servers ask no second time.
func (a *API) openConsent(c *gin.Context) {
	page, err := a.ports.Consents.Open(c.Request.Context(), connection.NewText(c.Param("link")))
	if err != nil {
		a.failConsent(c, err)
		return
	}
	http.SetCookie(c.Writer, consentCookie(page.OAuthState, page.Key.Reveal(), time.Until(page.EndsAt), page.Secure))
	writeConsentPage(c, http.StatusOK, consentView{
		Title: "Connect to " + page.Host, Next: page.URL, Host: page.Host, Tenant: page.Tenant, Connection: page.Connection, TokenHost: page.TokenHost,
	})
}

// completeConsent takes what an authorization server sends a person back with.
func (a *API) completeConsent(c *gin.Context) {
	q := c.Request.URL.Query()
	for _, values := range q {
		if len(values) > 1 || len(values[0]) > maxConsentText {
			a.failConsent(c, connection.ConsentEnded())
			return
		}
	}
	back := inbound.ConsentAnswer{OAuthState: q.Get("state"), Code: connection.NewText(q.Get("code")), Error: q.Get("error"), Issuer: q.Get("iss")}
	for _, secure := range []bool{true, false} {
		cookie := consentCookie(back.OAuthState, "", -time.Second, secure)
		if kept, err := c.Request.Cookie(cookie.Name); err == nil && back.Key.IsZero() {
			back.Key = connection.NewText(kept.Value)
			http.SetCookie(c.Writer, cookie) // it is used once
		}
	}
	exchange.Acting(c, audit.Act{Actor: audit.Actor{Kind: audit.ByLink}, Action: "giveConsent"})
	done, err := a.ports.Consents.Complete(c.Request.Context(), back)
	if err != nil {
		a.failConsent(c, err)
		return
	}
	exchange.StateOf(c).Caller = tenant.Caller{Scope: tenant.All(done.Tenant())}
	writeConsentPage(c, http.StatusOK, consentView{Title: "Connected", Text: "The connection can be used now. You can close this window."})
}

// consentCookie bears the key of a state. Each has a name of its own, so that a person can consent to several
// connections at once. With TLS no other host can set it.
func consentCookie(state, key string, life time.Duration, secure bool) *http.Cookie {
	_, challenge, _ := strings.Cut(state, ".")
	name := "sluice-consent-" + strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, challenge[:min(len(challenge), 16)])
	c := &http.Cookie{Name: name, Value: key, Path: "/oauth", MaxAge: int(life / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if secure {
		c.Name, c.Path, c.Secure = "__Host-"+name, "/", true
	}
	return c
}

// failConsent tells a person what is wrong, in words of ours.
func (a *API) failConsent(c *gin.Context, err error) {
	state := exchange.StateOf(c)
	var known *domain.Error
	view, status := consentView{Title: "Not connected", Text: "Something went wrong on our side. Try it again in a moment, with a new link."}, http.StatusInternalServerError
	if errors.As(err, &known) && known.Kind != domain.Internal {
		state.Code, view.Text = known.Code, known.Message
		status = map[domain.Kind]int{domain.NotFound: http.StatusNotFound, domain.Conflict: http.StatusConflict, domain.Invalid: http.StatusBadRequest}[known.Kind]
		if status == 0 {
			view.Text, status = "The gateway cannot be reached at the moment. Try it again.", http.StatusServiceUnavailable
		}
	}
	if status >= http.StatusInternalServerError {
		state.Cause = err
	}
	writeConsentPage(c, status, view)
}

// consentView is what a page shows.
type consentView struct {
	Title, Text                         string
	Next                                string // where the person goes on; empty for nowhere
	Host, TokenHost, Tenant, Connection string
}

func writeConsentPage(c *gin.Context, status int, view consentView) {
	content := []html.Node{tag.H1(html.Text(view.Title))}
	if view.Next == "" {
		content = append(content, tag.P(html.Text(view.Text)))
	} else {
		content = append(content,
			tag.P(html.Textf("%s asks to use your account at ", view.Tenant), tag.Strong(html.Text(view.Host)), html.Textf(" for its connection “%s”.", view.Connection)),
			html.If(view.TokenHost != view.Host, tag.P(html.Text("The right to do so is given to "), tag.Strong(html.Text(view.TokenHost)), html.Text("."))),
			tag.P(html.Textf("Go on only if you know who asked you to. %s may ask you to sign in and to consent.", view.Host)),
			tag.P(tag.A(htmlpage.Leads(view.Next), tag.Class("button"), tag.Rel("noreferrer"), html.Textf("Continue to %s", view.Host))),
		)
	}
	if err := htmlpage.Write(c, status, "en", view.Title, content...); err != nil {
		exchange.Fail(c, err)
	}
}
