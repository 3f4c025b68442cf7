package run

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Bounds of a question once its templates are resolved, in characters. A longer prompt or title is
// cut; a longer assignee is a failure, since it would be another one.
const (
	maxPrompt   = 10_000
	maxTitle    = 500
	MaxAssignee = 255
)

// Question is what a person is asked, as it was when it was asked.
type Question struct {
	Title    string // empty for none
	Prompt   string // empty for none
	Assignee string // who is to answer; empty for nobody in particular
	Kind     string // the inputType of a single answer, such as email; empty of a form

	// Form are the fields that are asked for, in the order in which they are shown. Single says that
	// they are one, [node.SingleAnswer], whose value itself is the answer.
	Form   node.Declarations
	Single bool
}

// size is about how many bytes it takes.
func (q *Question) size() int {
	if q == nil {
		return 0
	}
	return 128*(1+len(q.Form)) + len(q.Title) + len(q.Prompt) + len(q.Assignee)
}

// PauseIDPrefix is what a [PauseID] begins with, without the underscore.
const PauseIDPrefix = "pau"

// PauseID identifies a question that a run asked: "pau_", the 26 characters of the run's
// identifier, and the number of the entry of its history with which it was asked.
type PauseID string

// NewPauseID is the identifier of a question.
func NewPauseID(of ID, seq int64) PauseID {
	return PauseID(PauseIDPrefix + "_" + strings.TrimPrefix(string(of), IDPrefix+"_") + strconv.FormatInt(seq, 10))
}

// Question returns the run and the number of the entry; ok is false where the identifier is
// spelled wrong.
func (id PauseID) Question() (of ID, seq int64, ok bool) {
	const digits = 26
	suffix, fits := strings.CutPrefix(string(id), PauseIDPrefix+"_")
	if !fits || len(suffix) <= digits || suffix[digits] < '1' || suffix[digits] > '9' {
		return "", 0, false
	}
	of = ID(IDPrefix + "_" + suffix[:digits])
	seq, err := strconv.ParseInt(suffix[digits:], 10, 64)
	return of, seq, err == nil && domain.ValidIdentifier(string(of), IDPrefix)
}

// inputAction pauses until a person answers.
type inputAction struct {
	question Question // as it is where there are no templates
	form     node.Schema
	single   bool
	texts    *evaluator    // of the templates in title, prompt and assignee; nil where there are none
	guarded  bool          // the first release knows nothing of such nodes
	timeout  time.Duration // 0 for none
}

// The members of a question in which there are templates.
const (
	titleMember    = "title"
	promptMember   = "prompt"
	assigneeMember = "assignee"
)

func (p planner) input(kind node.NodeType, config map[string]any) action {
	a := inputAction{timeout: milliseconds(config["timeoutMs"]), guarded: kind.HasTemplates}
	a.form, a.single = kind.AnswerForm(config)
	a.question = Question{Form: a.form.Declarations(), Single: a.single}
	if a.single {
		a.question.Kind, _ = kind.Config.ApplyDefaults(config)["inputType"].(string)
	}
	texts := map[string]any{}
	for _, member := range []string{titleMember, promptMember, assigneeMember} {
		if text, isText := config[member].(string); isText && (member == promptMember || a.guarded) {
			texts[member] = text
		}
	}
	if a.guarded && holdsTemplate(texts) {
		a.texts = &evaluator{field: "config"}
		a.texts.uses.addRootsWithin(texts)
		a.texts.expression, a.texts.fault = p.compiler.CompileTemplates(texts, p.scope...)
		a.texts.uses.narrow(a.texts.expression, a.texts.fault)
		return a
	}
	_ = a.question.fill(texts) // what stands there was checked
	return a
}

// fill takes the texts that templates gave.
func (q *Question) fill(texts map[string]any) *Failure {
	q.Title = storable(strings.TrimSpace(textOf(texts[titleMember])), maxTitle)
	q.Prompt = storable(textOf(texts[promptMember]), maxPrompt)
	q.Assignee = strings.TrimSpace(textOf(texts[assigneeMember]))
	if n := utf8.RuneCountInString(q.Assignee); n > MaxAssignee {
		return &Failure{Code: CodeConfigInvalid, Message: "config.assignee: must be at most " + strconv.Itoa(MaxAssignee) + " characters long, not " + strconv.Itoa(n)}
	}
	q.Assignee = storable(q.Assignee, MaxAssignee)
	return nil
}

// textOf spells a value that a template gave.
func textOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	text, err := appendValue(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

func (a inputAction) begin(m *machine, i int) {
	q := a.question
	if a.texts != nil {
		value, failure := a.texts.evaluate(m.view, i, m.at, nil)
		if failure == nil {
			texts, _ := value.(map[string]any)
			failure = q.fill(texts)
		}
		if failure != nil {
			m.fail(i, *failure)
			return
		}
	}
	m.pauseFor(i, Pause{Kind: PauseInput, Question: &q, Guarded: a.guarded}, a.timeout)
}

// read takes an answer: the value itself, or an object whose only member is value,
// besides the entityId by which an event may have found the run. That of a form is an object of
// what its fields ask for.
func (a inputAction) read(field string, text json.RawMessage) (value any, err *domain.Error) {
	var r domain.Rules
	given := len(text) > 0
	if given {
		tree, problem := parse(text)
		r.Check(problem == nil, field, domain.BadFormat, "must be a JSON value")
		value = tree
	}
	wrapped, isObject := value.(map[string]any)
	_, declared := a.form.Field(node.SingleAnswer)
	if isObject && (a.single || !declared) {
		members := len(wrapped)
		if _, named := wrapped["entityId"]; named {
			members--
		}
		if inner, named := wrapped[node.SingleAnswer]; named && members == 1 {
			field, value = domain.Member(field, node.SingleAnswer), inner
		}
	}
	if a.single {
		a.checkSingle(&r, field, value)
	} else {
		value = a.checkForm(&r, field, value)
	}
	if found := r.Violations(); len(found) > 0 {
		return nil, &domain.Error{Kind: domain.Invalid, Code: CodeInputInvalid, Message: "The answer does not fit what the node asks for.", Violations: found}
	}
	return value, nil
}

func (a inputAction) checkSingle(r *domain.Rules, field string, value any) {
	answer, _ := a.form.Field(node.SingleAnswer)
	switch {
	case value != nil:
		answer.Check(r, field, value)
	case answer.Required():
		r.Check(false, field, domain.Required, "must be given")
	}
}

// checkForm checks the answers to a form, and puts defaults in place. null counts as no answer.
func (a inputAction) checkForm(r *domain.Rules, field string, value any) any {
	given, isObject := value.(map[string]any)
	r.Check(isObject || value == nil, field, domain.WrongType, "must be an object with the answers by the names of their fields, not %s", kindOf(value))
	if len(r.Violations()) > 0 {
		return nil
	}
	answers := make(map[string]any, len(given))
	for name, answer := range given {
		_, asked := a.form.Field(name)
		if answer != nil && (asked || name != "entityId") {
			answers[name] = answer
		}
	}
	a.form.Check(r, field, answers)
	for name := range answers {
		if _, asked := a.form.Field(name); !asked {
			r.Check(false, domain.Member(field, name), domain.NotAllowed, "must be left out: the question has no such field")
		}
	}
	return a.form.ApplyDefaults(answers)
}

// Question is what a node asks, or asked, and how far that node is; its pause is nil of one that asks nobody, or
// has not asked yet. The words of a question that an earlier version of the gateway asked are those of the plan.
func (r *Run) Question(p *Plan, of workflow.NodeID) (q Question, asked NodeState) {
	for i := range r.state.Nodes {
		n := &r.state.Nodes[i]
		if n.ID != of || n.Pause == nil || n.Pause.Kind != PauseInput {
			continue
		}
		if known := n.Pause.Question; known != nil {
			q = *known
		} else if known := p.Question(of); known != nil {
			q = *known
		}
		return q, *n
	}
	return Question{}, NodeState{}
}

// Question is what a node of the plan asks, as it is where there are no templates; nil where it asks
// nobody, or there is no plan.
func (p *Plan) Question(of workflow.NodeID) *Question {
	if p == nil {
		return nil
	}
	i, exists := p.index[of]
	if !exists {
		return nil
	}
	a, asks := p.nodes[i].action.(inputAction)
	if !asks {
		return nil
	}
	q := a.question
	return &q
}

// answered continues the node that asked a question.
func (m *machine) answered(f Answered) {
	i := -1
	for at := range m.s.Nodes {
		if p := m.node(at).Pause; p != nil && p.Kind == PauseInput && p.Seq == f.Seq && (f.Node == "" || f.Node == m.node(at).ID) {
			i = at
		}
	}
	if i < 0 {
		m.step.Refused = UnknownPause()
		return
	}
	switch n := m.node(i); {
	case n.Status == NodeWaiting && !m.overdue(n):
		m.by = &f.By
		m.step.Refused = m.answer(i, "input", f.Input)
		m.by = nil
	case n.Status == NodeWaiting || n.Status == NodeFailed && n.Failure.Code == CodeExpired:
		m.refuse(domain.Conflict, "expired", "The run has stopped waiting for this answer: it came too late.")
	case n.Status == NodeCompleted:
		m.step.Refused = alreadyAnswered(n)
	default:
		m.step.Refused = notPaused()
	}
}

// alreadyAnswered names who was first.
func alreadyAnswered(n *NodeState) *domain.Error {
	who := "somebody"
	if n.Pause.AnsweredBy != nil {
		who = n.Pause.AnsweredBy.String()
	}
	return domain.Fail(domain.Conflict, "already_answered", "The question was answered by %s at %s.", who, n.FinishedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
}

// UnknownPause is the error for a question that does not exist, or is out of the caller's reach.
func UnknownPause() *domain.Error {
	return domain.Fail(domain.NotFound, "pause_not_found", "There is no such question.")
}

// RefuseAnswer says why a question of a run whose version is gone is not answered: such a run has
// been cancelled.
func (r *Run) RefuseAnswer(seq int64) *domain.Error {
	for i := range r.state.Nodes {
		if p := r.state.Nodes[i].Pause; p != nil && p.Kind == PauseInput && p.Seq == seq {
			return notPaused()
		}
	}
	return UnknownPause()
}

// AnswerCall answers a question.
type AnswerCall struct {
	Input json.RawMessage // any JSON value; nil when absent

	Malformed []domain.Violation
}

// Check returns what is wrong with the call, as [Call.Check] does.
func (c AnswerCall) Check() error {
	var r domain.Rules
	r.Add(c.Malformed...)
	if !r.Broken("input") {
		checkJSON(&r, c.Input, "input")
	}
	return r.Err(callInvalid, callInvalidMessage)
}

// noteActor remembers who ended the pause of a node.
func (n *NodeState) noteActor(by *tenant.Actor) {
	if by != nil && n.Pause != nil {
		p := *n.Pause
		p.AnsweredBy = by
		n.Pause = &p
	}
}
