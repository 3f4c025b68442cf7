package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// at is the path of a page as browsers know it, which may lie below the path of the public address.
func (a *Console) at(path string) string {
	public, err := url.Parse(a.opts.PublicURL())
	if err != nil { // the configuration was checked
		return path
	}
	return strings.TrimSuffix(public.EscapedPath(), "/") + path
}

// ServePage answers a request for a page below /console/ or a file of one; false where it is for something else.
func (a *Console) ServePage(c *gin.Context) bool {
	path := c.Request.URL.Path
	if a.opts.Pages == nil || !strings.HasPrefix(path, Prefix+"/") || strings.HasPrefix(path, apiPrefix+"/") || strings.HasPrefix(path, linkPrefix) ||
		c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		return false
	}
	if err := a.Guard(c); err != nil {
		failPage(c, a, wordsFor(c.GetHeader("Accept-Language")), err)
		return true
	}
	c.Status(http.StatusOK)
	a.opts.Pages.ServeHTTP(c.Writer, c.Request)
	return true
}

// nextFor is how long a browser may take to sign in and still come where it wanted to.
const nextFor = 10 * time.Minute

// maxNext bounds that place, in bytes.
const maxNext = 2000

func (a *Console) nextCookie() string { return a.cookieName() + "_next" }

// keepNext keeps where below the console a browser wants to go. What is kept begins with a slash and is put behind the
// console's own path, so that it leads nowhere else.
func (a *Console) keepNext(c *gin.Context) {
	if next := c.Query("next"); strings.HasPrefix(next, "/") && len(next) <= maxNext {
		a.setCookie(c, a.nextCookie(), url.QueryEscape(next), nextFor)
	}
}

// home is where somebody who is signed in goes: to the page that led to the sign-in, or to the first one.
func (a *Console) home(c *gin.Context) string {
	if a.opts.Pages == nil {
		return a.at(Prefix)
	}
	next, err := url.QueryUnescape(cookie(c.Request, a.nextCookie()))
	if err != nil || !strings.HasPrefix(next, "/") || strings.ContainsAny(next, "\r\n") {
		return a.at(Prefix + "/")
	}
	a.setCookie(c, a.nextCookie(), "", 0)
	return a.at(Prefix + next)
}
