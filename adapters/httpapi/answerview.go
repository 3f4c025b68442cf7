package httpapi

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	html "maragu.dev/gomponents"
	tag "maragu.dev/gomponents/html"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/htmlpage"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/inbound"
)

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

func writeAnswerPage(c *gin.Context, status int, view answerView) {
	title := view.Heading
	if view.Problem != "" {
		title = view.Problem + " " + title
	}
	c.Header("Vary", "Accept-Language")
	if err := htmlpage.Write(c, status, string(view.Words.Language), title, view.content()...); err != nil {
		exchange.Fail(c, err)
	}
}

func (v answerView) content() []html.Node {
	content := []html.Node{
		tag.H1(html.Text(v.Heading)),
		html.If(v.Prompt != "", tag.P(tag.Class("prompt"), tag.ID("prompt"), html.Text(v.Prompt))),
	}
	if v.Open {
		return append(content, v.deadline(), v.summary(), v.form())
	}
	return append(content, tag.P(tag.Role("status"), html.Text(v.State)), v.end())
}

func (t *answerTime) node() html.Node { return tag.Time(tag.DateTime(t.Machine), html.Text(t.Text)) }

func (v answerView) deadline() html.Node {
	return html.Iff(v.Until != nil, func() html.Node {
		return tag.P(tag.Class("quiet"), html.Text(v.Words.Until+" "), v.Until.node(), html.Text("."))
	})
}

func (v answerView) end() html.Node {
	return html.Iff(v.EndedAt != nil, func() html.Node {
		return tag.P(tag.Class("quiet"), v.EndedAt.node(), html.If(v.By != "", html.Text(" · "+v.By)))
	})
}

// summary leads from what is wrong to the fields that it concerns.
func (v answerView) summary() html.Node {
	if v.Problem == "" {
		return nil
	}
	wrong := v.Wrong()
	return tag.Div(tag.Class("error"), tag.Role("alert"), tag.P(html.Text(v.Problem)),
		html.If(len(wrong) > 0, tag.Ul(html.Map(wrong, func(f answerField) html.Node {
			return tag.Li(tag.A(htmlpage.Leads("#"+f.ID), html.Text(f.Label+": "+f.Problem)))
		}))))
}

func (v answerView) form() html.Node {
	content := html.Group{tag.Input(tag.Type("hidden"), tag.Name(seqField), tag.Value(strconv.FormatInt(v.Seq, 10)))}
	for _, f := range v.Fields {
		if v.Buttons {
			content = append(content, tag.Div(tag.Class("buttons"),
				tag.Button(tag.Name(f.Name), tag.Value("true"), html.Text(v.Words.Yes)),
				tag.Button(tag.Name(f.Name), tag.Value("false"), tag.Class("no"), html.Text(v.Words.No))))
			continue
		}
		content = append(content, f.node(v.Words))
	}
	return tag.Form(tag.Method("post"), html.Attr("novalidate"), html.If(v.Prompt != "", tag.Aria("describedby", "prompt")),
		content, html.If(!v.Buttons, tag.Button(html.Text(v.Words.Send))))
}

func (f answerField) node(words *answerWords) html.Node {
	return tag.Div(tag.Class("field"),
		tag.Label(tag.For(f.ID), html.Text(f.Label), html.If(f.Required, html.Group{html.Text(" "), tag.Span(tag.Class("help"), html.Text("("+words.Required+")"))})),
		html.If(f.Help != "", tag.P(tag.Class("help"), tag.ID(f.ID+"-help"), html.Text(f.Help))),
		f.control(words),
		html.If(f.Problem != "", tag.P(tag.Class("error"), tag.ID(f.ID+"-error"), html.Text(f.Problem))),
	)
}

// control is the element that takes the value.
func (f answerField) control(words *answerWords) html.Node {
	described := f.DescribedBy()
	named := html.Group{tag.ID(f.ID), tag.Name(f.Name)}
	state := html.Group{html.If(f.Required, tag.Required()), html.If(described != "", tag.Aria("describedby", described)), html.If(f.Problem != "", tag.Aria("invalid", "true"))}
	switch f.Type {
	case "textarea":
		return tag.Textarea(named, tag.Placeholder(f.Placeholder), state, html.Text("\n"+f.Value)) // HTML leaves out the first line break
	case "select":
		return tag.Select(named, state, tag.Option(tag.Value(""), html.Text(words.Choose)), html.Map(f.Choices, func(c answerChoice) html.Node {
			return tag.Option(tag.Value(c.Value), html.If(c.Selected, tag.Selected()), html.Text(c.Label))
		}))
	default:
		return tag.Input(named, tag.Type(f.Type), tag.Value(f.Value), tag.Placeholder(f.Placeholder), html.If(f.Step != "", tag.Step(f.Step)), state)
	}
}
