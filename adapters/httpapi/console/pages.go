package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/htmlpage"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/inbound"
)

// Where people come with a browser.
const (
	linkPrefix  = Prefix + "/l/"
	signInPath  = Prefix + "/sign-in"
	signOutPath = Prefix + "/sign-out"
	forgotPath  = Prefix + "/forgotten-password"
	oidcStart   = apiPrefix + "/oidc/start"

	// OIDCCallback is where people come back to from a provider of identities.
	OIDCCallback = apiPrefix + "/oidc/callback"
)

// maxForm bounds what the form of a page sends, in bytes.
const maxForm = 16 << 10

// servePages adds the pages, and returns their routes. They need no scripts.
func (a *Console) servePages(engine *gin.Engine) (routes []Route) {
	serve := func(method, path string, handle func(*gin.Context, *words) error) {
		routes = append(routes, Route{method, path})
		engine.Handle(method, path, func(c *gin.Context) {
			exchange.StateOf(c).Strict = true
			w := wordsFor(c.GetHeader("Accept-Language"))
			err := a.Guard(c)
			if err == nil {
				recorded(c)
				err = handle(c, w)
			}
			if err != nil {
				failPage(c, a, w, err)
			}
		})
	}
	serve(http.MethodGet, Prefix, a.showAccount)
	serve(http.MethodPost, signInPath, a.takeSignIn)
	serve(http.MethodPost, signOutPath, a.takeSignOut)
	serve(http.MethodGet, forgotPath, a.showForgotten)
	serve(http.MethodPost, forgotPath, a.takeForgotten)
	serve(http.MethodGet, linkPrefix+":token", a.showLink)
	serve(http.MethodPost, linkPrefix+":token", a.takeLink)
	serve(http.MethodGet, oidcStart, a.leave)
	serve(http.MethodGet, OIDCCallback, a.comeBack)
	return routes
}

// showAccount says who is signed in, or lets somebody sign in.
func (a *Console) showAccount(c *gin.Context, w *words) error {
	token, ok := a.Session(c.Request)
	if ok {
		who, err := a.accounts.WhoAmI(c.Request.Context(), token)
		if err == nil && a.opts.Pages != nil {
			return redirect(c, a.at(Prefix+"/"))
		}
		if err == nil {
			return writePage(c, http.StatusOK, w, accountView(w, a.at, who))
		}
		if domain.KindOf(err) != domain.Unauthenticated {
			return err
		}
	}
	a.keepNext(c)
	return writePage(c, http.StatusOK, w, signInView(w, a.at, a.elsewhere.Enabled(), a.forgotten.CanAsk(), "", ""))
}

// takeSignIn takes what the form of the page sends.
func (a *Console) takeSignIn(c *gin.Context, w *words) error {
	given, err := readForm(c)
	if err != nil {
		return err
	}
	s, err := a.accounts.SignIn(c.Request.Context(), inbound.Login{Email: given.Get("email"), Password: given.Get("password")}, a.browser(c))
	if domain.KindOf(err) == domain.Unauthenticated {
		exchange.StateOf(c).Code = codeOf(err)
		return writePage(c, http.StatusUnauthorized, w, signInView(w, a.at, a.elsewhere.Enabled(), a.forgotten.CanAsk(), given.Get("email"), w.Refused))
	}
	return a.enter(c, s, err)
}

// showForgotten asks for the address of who has forgotten a password.
func (a *Console) showForgotten(c *gin.Context, w *words) error {
	if !a.forgotten.CanAsk() {
		return errNoMail()
	}
	return writePage(c, http.StatusOK, w, forgottenView(w, a.at))
}

// takeForgotten has a link mailed, and says the same to everybody.
func (a *Console) takeForgotten(c *gin.Context, w *words) error {
	given, err := readForm(c)
	if err != nil {
		return err
	}
	if err := a.ask(c, given.Get("email")); err != nil {
		return err
	}
	return writePage(c, http.StatusOK, w, askedView(w, a.at))
}

// enter gives the browser the session that has begun, and shows it.
func (a *Console) enter(c *gin.Context, s inbound.Begun, err error) error {
	if err != nil {
		return err
	}
	a.begun(c, s)
	return redirect(c, a.home(c))
}

func (a *Console) takeSignOut(c *gin.Context, _ *words) error {
	if token, ok := a.Session(c.Request); ok {
		if err := a.accounts.SignOut(c.Request.Context(), token); err != nil {
			return err
		}
	}
	a.ended(c)
	return redirect(c, a.at(Prefix))
}

// open returns a link that can be used.
func (a *Console) open(c *gin.Context) (inbound.OpenLink, error) {
	link, ok := member.ParseToken(c.Param("token"))
	if !ok {
		return inbound.OpenLink{}, member.LinkEnded()
	}
	return a.accounts.Link(c.Request.Context(), link, a.browser(c))
}

// showLink asks before it uses a link: what reads mails opens it first.
func (a *Console) showLink(c *gin.Context, w *words) error {
	open, err := a.open(c)
	if err != nil {
		return err
	}
	return writePage(c, http.StatusOK, w, linkView(w, open, ""))
}

// takeLink uses it.
func (a *Console) takeLink(c *gin.Context, w *words) error {
	link, ok := member.ParseToken(c.Param("token"))
	if !ok {
		return member.LinkEnded()
	}
	given, err := readForm(c)
	if err != nil {
		return err
	}
	s, err := a.accounts.UseLink(c.Request.Context(), link, given.Get("password"), a.browser(c))
	var known *domain.Error
	if errors.As(err, &known) && known.Code == "password_invalid" {
		open, err := a.open(c)
		if err != nil {
			return err
		}
		exchange.StateOf(c).Code = known.Code
		return writePage(c, http.StatusBadRequest, w, linkView(w, open, w.passwordProblem(known.Violations)))
	}
	return a.enter(c, s, err)
}

// keptFor is how long a browser may be away at a provider of identities.
const keptFor = 10 * time.Minute

// keptCookie holds what a browser brings back from a provider.
func (a *Console) keptCookie() string { return a.cookieName() + "_oidc" }

// leave sends a browser to the provider.
func (a *Console) leave(c *gin.Context, _ *words) error {
	if !a.elsewhere.Enabled() {
		return errNoProvider()
	}
	to, err := a.elsewhere.Start(c.Request.Context(), a.browser(c))
	if err != nil {
		return err
	}
	a.setCookie(c, a.keptCookie(), to.Kept, keptFor)
	return redirect(c, to.URL)
}

// comeBack begins a session for whoever a browser brings back. What the browser keeps is used once, whatever comes of it.
func (a *Console) comeBack(c *gin.Context, _ *words) error {
	if !a.elsewhere.Enabled() {
		return errNoProvider()
	}
	kept := cookie(c.Request, a.keptCookie())
	a.setCookie(c, a.keptCookie(), "", 0)
	q := c.Request.URL.Query()
	for _, name := range []string{"code", "state"} {
		if len(q[name]) > 1 {
			return member.SignInRefused()
		}
	}
	s, err := a.elsewhere.Finish(c.Request.Context(), inbound.Return{Code: q.Get("code"), SentState: q.Get("state"), Kept: kept}, a.browser(c))
	return a.enter(c, s, err)
}

func errNoProvider() error {
	return domain.Fail(domain.NotFound, "identity_provider_missing", "People sign in with passwords here: the gateway has no identity provider.")
}

func readForm(c *gin.Context) (url.Values, error) {
	body, err := exchange.ReadRaw(c, maxForm)
	if err != nil {
		return nil, err
	}
	given, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, domain.Fail(domain.Invalid, "body_invalid", "The form could not be read.")
	}
	return given, nil
}

func redirect(c *gin.Context, to string) error {
	htmlpage.SetHeaders(c.Writer.Header())
	c.Header("Location", to)
	c.Status(http.StatusSeeOther)
	c.Writer.WriteHeaderNow()
	return nil
}

func codeOf(err error) string {
	var known *domain.Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

// failPage says to a person what is wrong.
func failPage(c *gin.Context, a *Console, w *words, err error) {
	state := exchange.StateOf(c)
	status, text := http.StatusInternalServerError, w.Failed
	var known *domain.Error
	var transport *exchange.TransportError
	switch {
	case errors.As(err, &transport):
		state.Code, status = transport.Code, transport.Status
	case errors.As(err, &known):
		state.Code = known.Code
		if said, ok := w.Problems[known.Code]; ok {
			text = said
		}
		switch known.Kind {
		case domain.NotFound:
			status = http.StatusNotFound
		case domain.Invalid:
			status = http.StatusBadRequest
		case domain.Unauthenticated:
			status = http.StatusUnauthorized
		case domain.Forbidden:
			status = http.StatusForbidden
		case domain.Conflict:
			status = http.StatusConflict
		case domain.RateLimited:
			status = http.StatusTooManyRequests
			c.Header("Retry-After", strconv.Itoa(max(1, int(known.RetryAfter/time.Second))))
		case domain.Unavailable:
			status = http.StatusServiceUnavailable
		}
	}
	if status >= http.StatusInternalServerError || status == http.StatusUnauthorized {
		state.Cause = err
	}
	if err := writePage(c, status, w, problemView(w, a.at, text)); err != nil {
		exchange.Fail(c, err)
	}
}
