// Package console serves over HTTP what people do with their own account: they sign in and out, see their
// sessions, and change their password.
package console

import (
	_ "embed" // for the document
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/htmlpage"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

//go:embed openapi.yaml
var document []byte

// YAML returns the description of the operations. The bytes must not be changed.
func YAML() []byte { return document }

// Prefix begins the paths of the console.
const (
	Prefix    = "/console"
	apiPrefix = Prefix + "/api"

	// TenantPath begins the paths of what members do with their tenant, as the router has it.
	TenantPath = tenantsPrefix + ":" + tenantParameter

	// OperatorPath begins the paths of what the operator's people do.
	OperatorPath = apiPrefix + "/operator"

	tenantsPrefix   = apiPrefix + "/t/"
	tenantParameter = "tenantId"
)

// Owns says whether a path is the console's.
func Owns(path string) bool {
	rest, ok := strings.CutPrefix(path, Prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// OfTenant returns what of a path stands behind [TenantPath]; ok is false for any other path.
func OfTenant(path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, tenantsPrefix)
	slash := strings.IndexByte(rest, '/')
	if !ok || slash < 0 {
		return "", false
	}
	return rest[slash:], true
}

// LoggedPath leaves out what may be the secret of a link.
func LoggedPath(path string) string {
	for _, links := range []string{Prefix + "/l/", apiPrefix + "/links/"} {
		if strings.HasPrefix(path, links) {
			return links + "…"
		}
	}
	return path
}

// Options are what the console needs besides its ports.
type Options struct {
	PublicURL func() string               // under which browsers reach the console
	Address   func(c *gin.Context) string // of whoever made the request
	Pages     http.Handler                // what is below /console/ for browsers; nil for none
}

// Console knows sessions by their cookies.
type Console struct {
	accounts  inbound.Accounts
	elsewhere inbound.SignInElsewhere
	forgotten inbound.ForgottenPasswords
	opts      Options
	crossSite *http.CrossOriginProtection
}

// Route is a method and a path, as the router has it.
type Route struct{ Method, Path string }

// New returns the console.
func New(accounts inbound.Accounts, elsewhere inbound.SignInElsewhere, forgotten inbound.ForgottenPasswords, opts Options) *Console {
	return &Console{accounts: accounts, elsewhere: elsewhere, forgotten: forgotten, opts: opts, crossSite: http.NewCrossOriginProtection()}
}

// Serve adds the routes of accounts to an engine, and returns them.
func (a *Console) Serve(engine *gin.Engine) (routes []Route) {
	serve := func(method, path string, handle func(*gin.Context) error) {
		routes = append(routes, Route{method, apiPrefix + path})
		engine.Handle(method, apiPrefix+path, func(c *gin.Context) {
			exchange.StateOf(c).Strict = true
			err := a.Guard(c)
			if err == nil {
				recorded(c)
				err = handle(c)
			}
			if err != nil {
				exchange.Fail(c, err)
			}
		})
	}
	describe := func(c *gin.Context) error {
		c.Data(http.StatusOK, "application/yaml; charset=utf-8", document)
		return nil
	}
	serve(http.MethodGet, "/openapi.yaml", describe)
	serve(http.MethodHead, "/openapi.yaml", describe)
	serve(http.MethodPost, "/session", a.signIn)
	serve(http.MethodGet, "/session", a.whoAmI)
	serve(http.MethodPatch, "/session", a.changeUser)
	serve(http.MethodDelete, "/session", a.signOut)
	serve(http.MethodGet, "/sessions", a.listSessions)
	serve(http.MethodDelete, "/sessions/:id", a.endSession)
	serve(http.MethodPost, "/password", a.changePassword)
	serve(http.MethodPost, "/forgotten-password", a.askForPassword)
	serve(http.MethodPost, "/links/:token", a.useLink)
	return append(routes, a.servePages(engine)...)
}

// Guard refuses requests that another site makes a browser send, and those that could be read on their way. A cookie
// is sent by whoever has the browser send it, and in clear where there is no TLS. A proxy may name the gateway's own
// address as the host that was asked for, so whatever has come through one is no request of this machine.
func (a *Console) Guard(c *gin.Context) error {
	c.Writer.Header().Set("Cache-Control", "no-store")
	if !a.isSecure() && (!isLoopback(c.Request.Host) || isForwarded(c.Request.Header)) {
		return domain.Fail(domain.Forbidden, "https_required",
			"The console is served over TLS only, except on localhost. Put a proxy with TLS in front of the gateway, and its https:// address into SLUICE_PUBLIC_URL.")
	}
	if err := a.crossSite.Check(c.Request); err != nil {
		return domain.Fail(domain.Forbidden, "cross_site_request", "Another site may not do this in your name.")
	}
	return nil
}

// isSecure says whether browsers reach the console by TLS.
func (a *Console) isSecure() bool { return strings.HasPrefix(a.opts.PublicURL(), "https://") }

// isForwarded says whether a proxy has passed a request on.
func isForwarded(h http.Header) bool {
	return len(h.Values("X-Forwarded-For"))+len(h.Values("X-Forwarded-Proto"))+len(h.Values("Forwarded")) > 0
}

func isLoopback(hostport string) bool {
	u := url.URL{Host: hostport}
	host := u.Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// Names of the cookie. The first is one that browsers take over TLS and from this host only.
const secureCookie, plainCookie = "__Host-sluice", "sluice_session"

func (a *Console) cookieName() string {
	if a.isSecure() {
		return secureCookie
	}
	return plainCookie
}

// setCookie gives the browser a secret for a while; none ends it.
func (a *Console) setCookie(c *gin.Context, name, value string, lasts time.Duration) {
	age := int(lasts / time.Second)
	if value == "" {
		age = -1
	}
	http.SetCookie(c.Writer, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: a.isSecure(),
	})
}

// cookie returns the one value of a cookie. Two count as none: it is not known who set which.
func cookie(r *http.Request, name string) string {
	if sent := r.CookiesNamed(name); len(sent) == 1 {
		return sent[0].Value
	}
	return ""
}

// Session returns the token of a request; ok is false where there is none that could be one.
func (a *Console) Session(r *http.Request) (token member.Token, ok bool) {
	return member.ParseToken(cookie(r, a.cookieName()))
}

// session is Session for an operation of somebody who is signed in.
func (a *Console) session(c *gin.Context) (member.Token, error) {
	token, ok := a.Session(c.Request)
	if !ok {
		return token, errSignedOut()
	}
	return token, nil
}

// Member is who makes a request below [TenantPath].
func (a *Console) Member(c *gin.Context) *inbound.MemberOfTenant {
	token, _ := a.Session(c.Request)
	return &inbound.MemberOfTenant{Session: token, Tenant: exchange.PathID[tenant.ID](c, tenantParameter, tenant.IDPrefix)}
}

// errSignedOut is the error of a request without a session.
func errSignedOut() error {
	return domain.Fail(domain.Unauthenticated, "signed_out", "Nobody is signed in. Sign in to the console first.")
}

func (a *Console) browser(c *gin.Context) member.Browser {
	token, _ := a.Session(c.Request)
	return member.Browser{Agent: c.GetHeader("User-Agent"), Address: a.opts.Address(c), Language: htmlpage.Language(c.GetHeader("Accept-Language")), Session: token}
}

// begun gives the browser the session.
func (a *Console) begun(c *gin.Context, s inbound.Begun) {
	a.setCookie(c, a.cookieName(), s.Token.Reveal(), member.SessionLife)
}

// ended takes it away.
func (a *Console) ended(c *gin.Context) {
	a.setCookie(c, a.cookieName(), "", 0)
}
