package run

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// EncodeProgress writes the progress as one JSON object, without the outputs in
// [Progress.LargeOutputs]. Equal progress gives equal bytes. Times are Unix milliseconds,
// durations milliseconds; what is absent, empty or the default is left out.
func EncodeProgress(p Progress) []byte {
	w := &writer{b: make([]byte, 0, p.size())}
	w.progress(p)
	return w.b
}

// size is about how many bytes the progress takes.
func (p *Progress) size() int {
	total := 128
	for i := range p.Nodes {
		total += 192
		n := &p.Nodes[i]
		if n.OutputSeq == 0 {
			total += len(n.Output)
		}
		if n.Pause != nil {
			total += n.Pause.Question.size()
		}
	}
	return total
}

// writer appends members to JSON objects.
type writer struct {
	b     []byte
	comma bool
}

func (w *writer) open() {
	w.b = append(w.b, '{')
	w.comma = false
}

func (w *writer) close() {
	w.b = append(w.b, '}')
	w.comma = true
}

// name begins a member; the names are plain.
func (w *writer) name(name string) {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.comma = true
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

func (w *writer) text(name, value string) {
	if value != "" {
		w.name(name)
		w.b = appendText(w.b, value)
	}
}

func (w *writer) number(name string, value int64) {
	if value != 0 {
		w.name(name)
		w.b = strconv.AppendInt(w.b, value, 10)
	}
}

func (w *writer) flag(name string, value bool) {
	if value {
		w.name(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *writer) time(name string, t *time.Time) {
	if t != nil {
		w.name(name)
		w.b = strconv.AppendInt(w.b, t.UnixMilli(), 10)
	}
}

func (w *writer) raw(name string, text []byte) {
	if len(text) > 0 {
		w.name(name)
		w.b = append(w.b, text...)
	}
}

func (w *writer) failure(f *Failure) {
	if f == nil {
		return
	}
	w.name("failure")
	w.open()
	w.text("code", f.Code)
	w.text("message", f.Message)
	w.text("node", string(f.Node))
	w.text("edge", string(f.Edge))
	w.close()
}

func (w *writer) progress(p Progress) {
	w.open()
	w.number("retries", int64(p.Retries))
	w.places("begin", p.Begin)
	w.places("consider", p.Consider)
	w.number("calls", int64(p.Calls))
	w.number("used", p.Used.Milliseconds())
	w.time("activeSince", p.ActiveSince)
	w.ids("executed", p.Executed)
	w.ids("result", p.Result)
	if len(p.Nodes) > 0 {
		w.name("nodes")
		for i := range p.Nodes {
			w.b = append(w.b, separator(i))
			w.node(&p.Nodes[i])
		}
		w.b = append(w.b, ']')
	}
	w.close()
}

func (w *writer) places(name string, places []int) {
	if len(places) == 0 {
		return
	}
	w.name(name)
	for i, place := range places {
		w.b = strconv.AppendInt(append(w.b, separator(i)), int64(place), 10)
	}
	w.b = append(w.b, ']')
}

func (w *writer) ids(name string, ids []workflow.NodeID) {
	if len(ids) == 0 {
		return
	}
	w.name(name)
	for i, id := range ids {
		w.b = appendText(append(w.b, separator(i)), string(id))
	}
	w.b = append(w.b, ']')
}

// separator is what stands before an element of an array.
func separator(i int) byte {
	if i == 0 {
		return '['
	}
	return ','
}

func (w *writer) node(n *NodeState) {
	w.open()
	w.text("id", string(n.ID))
	if n.Status != NodePending {
		w.text("status", string(n.Status))
	}
	w.number("attempts", int64(n.Attempts))
	w.number("before", int64(n.AttemptsBeforeRetry))
	w.text("branch", n.Branch)
	w.failure(n.Failure)
	w.flag("handled", n.Handled)
	w.flag("logged", n.Logged)
	w.flag("redacted", n.Redacted)
	w.dead(n)
	if n.OutputSeq == 0 {
		w.raw("output", n.Output)
	}
	w.number("outputSeq", n.OutputSeq)
	w.text("outputOf", string(n.OutputOf))
	w.flag("givesInput", n.OutputIsInput)
	w.flag("takenOver", n.TakenOver)
	w.time("startedAt", n.StartedAt)
	w.time("finishedAt", n.FinishedAt)
	w.time("retryAt", n.RetryAt)
	if p := n.Pause; p != nil {
		w.name("pause")
		w.open()
		w.text("kind", string(p.Kind))
		w.text("event", p.Event)
		w.time("since", &p.Since)
		w.time("until", p.Until)
		w.pauseSeq(p)
		w.text("run", string(p.Run))
		w.flag("runPaused", p.RunPaused)
		w.text("tokenHash", p.TokenHash)
		w.question(p.Question)
		w.actor("answeredBy", p.AnsweredBy)
		w.close()
	}
	w.close()
}

// dead writes the edges that are not taken. Where some are undecided it is an object, which
// versions that know of none cannot read: they would take all edges for dead, and complete
// a failed run that is retried.
func (w *writer) dead(n *NodeState) {
	if len(n.Dead) == 0 {
		return
	}
	w.name("dead")
	if len(n.Undecided) > 0 {
		w.open()
		w.name("undecided")
		for i, id := range n.Undecided {
			w.b = appendText(append(w.b, separator(i)), string(id))
		}
		w.b = append(w.b, ']')
		w.name("edges")
	}
	for i, place := range n.Dead {
		w.b = strconv.AppendInt(append(w.b, separator(i)), int64(place), 10)
	}
	w.b = append(w.b, ']')
	if len(n.Undecided) > 0 {
		w.close()
	}
}

// pauseSeq writes the number of a pause: as a text where the first release, which reads no text there,
// would take any answer.
func (w *writer) pauseSeq(p *Pause) {
	if p.Guarded {
		w.text("seq", strconv.FormatInt(p.Seq, 10))
		return
	}
	w.number("seq", p.Seq)
}

func (w *writer) question(q *Question) {
	if q == nil {
		return
	}
	w.name("question")
	w.raws(EncodeQuestion(q))
}

func (w *writer) actor(name string, a *tenant.Actor) {
	if a == nil {
		return
	}
	w.name(name)
	w.open()
	w.text("kind", string(a.Kind))
	w.text("id", a.ID)
	w.text("subject", a.Subject)
	w.close()
}

// raws appends a value to its name.
func (w *writer) raws(text []byte) { w.b = append(w.b, text...) }

// EncodeQuestion writes a question as one JSON object.
func EncodeQuestion(q *Question) []byte {
	w := &writer{}
	w.open()
	w.text("title", q.Title)
	w.text("prompt", q.Prompt)
	w.text("assignee", q.Assignee)
	w.text("kind", q.Kind)
	w.flag("single", q.Single)
	if form, err := json.Marshal(q.Form); err == nil { // of what was read from JSON
		w.raw("form", form)
	}
	w.close()
	return w.b
}
