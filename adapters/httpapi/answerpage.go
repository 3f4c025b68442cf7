package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/htmlpage"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

const answerPath = run.LinkPath + ":token"

// maxAnswerForm bounds what a browser sends, in bytes.
const maxAnswerForm = 512 << 10

// Names of what the form of a page sends besides the fields, whose names bear a prefix.
const (
	seqField    = "question"
	fieldPrefix = "f."
)

// serveAnswerPages adds the pages on which whoever has their address answers one question.
func (a *API) serveAnswerPages() {
	a.getOpen(answerPath, a.showAnswerPage)
	a.engine.POST(answerPath, a.takeAnswer)
}

// openAnswerPage finds what a page shows. One that cannot be shown is answered.
func (a *API) openAnswerPage(c *gin.Context) (page inbound.AnswerPage, words *answerWords, found bool) {
	words = wordsFor(c.GetHeader("Accept-Language"))
	from, _ := netip.ParseAddr(a.client(c)) // one that is none counts with all others
	err := a.ports.AnswerPages.Enter(c.Request.Context(), from)
	if err == nil {
		page, err = a.ports.AnswerPages.Show(c.Request.Context(), c.Param("token"))
	}
	if err != nil {
		failAnswerPage(c, words, err)
		return page, words, false
	}
	exchange.StateOf(c).Caller = tenant.Caller{Scope: tenant.All(page.Tenant)}
	return page, words, true
}

func (a *API) showAnswerPage(c *gin.Context) {
	if page, words, found := a.openAnswerPage(c); found {
		writeAnswerPage(c, http.StatusOK, newAnswerView(page, words, nil, nil))
	}
}

// takeAnswer takes what the form of a page sends. Who was second sees who was first.
func (a *API) takeAnswer(c *gin.Context) {
	page, words, found := a.openAnswerPage(c)
	if !found {
		return
	}
	given, err := readForm(c)
	if err != nil {
		failAnswerPage(c, words, err)
		return
	}
	seq, _ := strconv.ParseInt(given.Get(seqField), 10, 64)
	if page.Status != inbound.WaitsForAnswer || seq != page.Seq {
		writeAnswerPage(c, http.StatusConflict, newAnswerView(page, words, nil, nil))
		return
	}
	input, err := readAnswers(page.Question, given)
	if err == nil {
		err = a.ports.AnswerPages.Answer(c.Request.Context(), c.Param("token"), seq, input)
	}
	var known *domain.Error
	switch {
	case err == nil:
		htmlpage.SetHeaders(c.Writer.Header())
		c.Redirect(http.StatusSeeOther, c.Request.URL.EscapedPath())
	case errors.As(err, &known) && known.Kind == domain.Invalid:
		exchange.StateOf(c).Code = known.Code
		writeAnswerPage(c, http.StatusBadRequest, newAnswerView(page, words, given, known.Violations))
	case errors.As(err, &known) && known.Kind == domain.Conflict:
		exchange.StateOf(c).Code = known.Code
		if page, err = a.ports.AnswerPages.Show(c.Request.Context(), c.Param("token")); err != nil {
			failAnswerPage(c, words, err)
			return
		}
		writeAnswerPage(c, http.StatusConflict, newAnswerView(page, words, nil, nil))
	default:
		failAnswerPage(c, words, err)
	}
}

// readForm reads what the form of a page sends.
func readForm(c *gin.Context) (url.Values, error) {
	body, err := exchange.ReadRaw(c, maxAnswerForm)
	if err != nil {
		return nil, err
	}
	given, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, domain.Fail(domain.Invalid, "body_invalid", "The form could not be read.")
	}
	return given, nil
}

// readAnswers makes the answer of what a form sends: a blank field says nothing.
func readAnswers(q run.Question, given url.Values) (json.RawMessage, error) {
	answers := make(map[string]any)
	for _, f := range q.Form {
		text := strings.ReplaceAll(given.Get(fieldPrefix+f.Name), "\r\n", "\n")
		if text == "" {
			continue
		}
		answers[f.Name] = readField(f.Declaration, text)
	}
	var whole any = answers
	if q.Single {
		whole = map[string]any{node.SingleAnswer: answers[node.SingleAnswer]}
	}
	return json.Marshal(whole)
}

// readField is what a person wrote as the field wants it; the text itself where it is nothing like that.
func readField(d node.Declaration, text string) any {
	switch d.Type {
	case node.Number:
		trimmed := strings.TrimSpace(text)
		if n, ok := domain.ReadDecimal(trimmed); ok {
			return n
		}
		if n, ok := domain.ReadDecimal(strings.Replace(trimmed, ",", ".", 1)); ok && strings.Count(trimmed, ",") == 1 && !strings.Contains(trimmed, ".") {
			return n
		}
	case node.Boolean:
		if value, err := strconv.ParseBool(text); err == nil {
			return value
		}
	case node.Enum:
		if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(d.Enum) {
			return json.RawMessage(d.Enum[i])
		}
	}
	return text
}

// failAnswerPage says to a person what is wrong.
func failAnswerPage(c *gin.Context, words *answerWords, err error) {
	state := exchange.StateOf(c)
	status, text := http.StatusInternalServerError, words.Failed
	var known *domain.Error
	var transport *exchange.TransportError
	if errors.As(err, &transport) {
		state.Code, status, text = transport.Code, transport.Status, words.Wrong
	}
	if errors.As(err, &known) {
		state.Code = known.Code
		switch known.Kind {
		case domain.NotFound:
			status, text = http.StatusNotFound, words.Unknown
		case domain.Invalid:
			status, text = http.StatusBadRequest, words.Wrong
		case domain.RateLimited:
			status, text = http.StatusTooManyRequests, words.TooOften
			c.Header("Retry-After", strconv.Itoa(max(1, int(known.RetryAfter/time.Second))))
		case domain.Unavailable:
			status, text = http.StatusServiceUnavailable, words.Failed
		}
	}
	if status >= http.StatusInternalServerError {
		state.Cause = err
	}
	writeAnswerPage(c, status, answerView{Words: words, Heading: words.Heading, State: text})
}

// wordsFor are the texts in the language that a browser prefers.
func wordsFor(accept string) *answerWords { return answerTexts[htmlpage.Language(accept)] }
