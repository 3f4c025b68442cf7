package httpapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
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
		setPageHeaders(c, answerPolicy)
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

// answerView is what a page shows.
type answerView struct {
	Words                  *answerWords
	Heading, Prompt, State string
	Open, Buttons          bool
	Seq                    int64
	Until, EndedAt         *answerTime
	By                     string
	Problem                string // of the whole answer
	Fields                 []answerField
}

// Wrong are the fields with a problem; those that are buttons have no place to lead to.
func (v answerView) Wrong() (fields []answerField) {
	for _, f := range v.Fields {
		if f.Problem != "" && !v.Buttons {
			fields = append(fields, f)
		}
	}
	return fields
}

// answerTime is a time for people and for machines.
type answerTime struct{ Text, Machine string }

func newAnswerTime(at *time.Time) *answerTime {
	if at == nil {
		return nil
	}
	return &answerTime{Text: at.UTC().Format("2006-01-02 15:04") + " UTC", Machine: at.UTC().Format(time.RFC3339)}
}

// answerField is one field of a form.
type answerField struct {
	ID, Name, Label, Help, Placeholder string
	Type                               string // of an input element; textarea, select
	Required                           bool
	Value, Problem                     string
	Choices                            []answerChoice
	Step                               string
}

// DescribedBy names what belongs to the field besides its label.
func (f answerField) DescribedBy() string {
	var ids []string
	if f.Help != "" {
		ids = append(ids, f.ID+"-help")
	}
	if f.Problem != "" {
		ids = append(ids, f.ID+"-error")
	}
	return strings.Join(ids, " ")
}

type answerChoice struct {
	Value, Label string
	Selected     bool
}

func newAnswerView(page inbound.AnswerPage, words *answerWords, given url.Values, found []domain.Violation) answerView {
	v := answerView{
		Words: words, Heading: page.Question.Title, Prompt: page.Question.Prompt, State: words.States[page.Status], Open: page.Status == inbound.WaitsForAnswer, Seq: page.Seq,
		EndedAt: newAnswerTime(page.EndedAt),
	}
	if v.Heading == "" {
		v.Heading = words.Heading
	}
	if page.By != nil {
		v.By = words.by(*page.By)
	}
	if !v.Open {
		return v
	}
	v.Until = newAnswerTime(page.Until)
	form := page.Question.Form
	v.Buttons = page.Question.Single && len(form) == 1 && form[0].Declaration.Type == node.Boolean
	for i, f := range form {
		v.Fields = append(v.Fields, newAnswerFieldView(i, f, page.Question, words, given, found))
	}
	if len(found) > 0 {
		v.Problem = words.Wrong
	}
	return v
}

func newAnswerFieldView(i int, f node.DeclaredField, q run.Question, words *answerWords, given url.Values, found []domain.Violation) answerField {
	d := f.Declaration
	field := answerField{ID: "field-" + strconv.Itoa(i), Name: fieldPrefix + f.Name, Label: d.ShownText("title"), Placeholder: d.ShownText("placeholder"), Type: "text"}
	if d.Description != nil {
		field.Help = *d.Description
	}
	field.Required = d.Required != nil && *d.Required
	switch {
	case field.Label != "":
	case q.Single:
		field.Label = words.Answer
	default:
		field.Label = f.Name
	}
	value := given.Get(field.Name)
	if given == nil {
		value = d.DefaultText()
	}
	switch d.Type {
	case node.Number:
		field.Type, field.Step = "number", "any"
		if d.Integer != nil && *d.Integer {
			field.Step = "1"
		}
	case node.Boolean:
		field.Type = "select"
		field.Choices = []answerChoice{{"true", words.Yes, value == "true"}, {"false", words.No, value == "false"}}
	case node.Enum:
		field.Type = "select"
		labels := d.EnumLabels()
		for at := range d.Enum {
			text := strconv.Itoa(at)
			field.Choices = append(field.Choices, answerChoice{text, labels[at], value == text || given == nil && d.Default != nil && string(d.Default) == string(d.Enum[at])})
		}
	default:
		switch {
		case q.Kind == "email", q.Kind == "url":
			field.Type = q.Kind
		case d.MaxLength == nil || *d.MaxLength > 200:
			field.Type = "textarea"
		}
	}
	field.Value = value
	path := "input." + f.Name
	for _, one := range found {
		if one.Field == path || one.Field == domain.Member("input", f.Name) || q.Single && (one.Field == "input" || one.Field == "input.value") {
			field.Problem = words.problem(one.Code)
			break
		}
	}
	return field
}

//go:embed answerpage.html
var answerHTML string

var answerTemplate = template.Must(template.New("answer").Parse(answerHTML))

// answerPolicy lets a page do nothing but send its form back.
const answerPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// setPageHeaders keeps a page whose address holds a secret from frames, caches and what it leads to.
func setPageHeaders(c *gin.Context, policy string) {
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

func writeAnswerPage(c *gin.Context, status int, view answerView) {
	var page bytes.Buffer
	if err := answerTemplate.Execute(&page, view); err != nil {
		exchange.Fail(c, err)
		return
	}
	setPageHeaders(c, answerPolicy)
	c.Header("Vary", "Accept-Language")
	c.Data(status, "text/html; charset=utf-8", page.Bytes())
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

// wordsFor chooses the language that a browser prefers among those that there are; English for none.
func wordsFor(accept string) *answerWords {
	type wish struct {
		language string
		weight   float64
	}
	var wishes []wish
	for _, part := range strings.Split(accept[:min(len(accept), 1000)], ",") {
		language, parameters, _ := strings.Cut(part, ";")
		weight := 1.0
		if text, has := strings.CutPrefix(strings.TrimSpace(parameters), "q="); has {
			weight, _ = strconv.ParseFloat(text, 64)
		}
		if weight > 0 {
			wishes = append(wishes, wish{strings.ToLower(strings.TrimSpace(language)), weight})
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	for _, w := range wishes {
		base, _, _ := strings.Cut(w.language, "-")
		for _, l := range tenant.Languages() {
			known, _, _ := strings.Cut(strings.ToLower(string(l)), "-")
			if base == known {
				return answerTexts[l]
			}
		}
	}
	return answerTexts[tenant.English]
}
