package httpapi

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
)

// auditBody is an entry of the audit log.
type auditBody struct {
	ID        string            `json:"id"`
	At        string            `json:"at"`
	Actor     auditActorBody    `json:"actor"`
	Action    string            `json:"action"`
	Target    auditTargetBody   `json:"target"`
	Changes   []auditChangeBody `json:"changes"`
	RequestID string            `json:"requestId,omitempty"`
	Address   string            `json:"address,omitempty"`
	Sequence  int64             `json:"sequence,omitempty"`
	Hash      string            `json:"hash,omitempty"`
}

type auditActorBody struct {
	Kind    audit.ActorKind `json:"kind"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Subject string          `json:"subject,omitempty"`
}

type auditTargetBody struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
}

type auditChangeBody struct {
	Field string          `json:"field"`
	Old   json.RawMessage `json:"old,omitempty"`
	New   json.RawMessage `json:"new,omitempty"`
}

func auditBodyOf(e audit.Entry) auditBody {
	body := auditBody{
		ID: string(e.ID), At: exchange.Timestamp(e.At), Actor: auditActorBody(e.Actor()), Action: e.Action, Target: auditTargetBody(e.Target),
		Changes: []auditChangeBody{}, RequestID: e.RequestID, Address: e.Address(), Sequence: e.Sequence,
	}
	for _, c := range e.Changes() {
		body.Changes = append(body.Changes, auditChangeBody{c.Field, json.RawMessage(c.Old), json.RawMessage(c.New)})
	}
	if e.Sequence > 0 {
		body.Hash = e.Hash.String()
	}
	return body
}

// listAudit answers GET /audit-log.
func (a *API) listAudit(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, "at")
	if err != nil {
		return err
	}
	f := auditFilter(l)
	return exchange.AnswerLargeList(c, who, l, exchange.LargeList[audit.Entry]{
		Read: func(q domain.Query) (domain.Page[audit.Entry], error) {
			return a.ports.AuditLog.List(c.Request.Context(), who, f, q)
		},
		Render: func(e audit.Entry) any { return auditBodyOf(e) },
	})
}

// auditFilter reads which entries fit.
func auditFilter(l *exchange.ListRequest) (f audit.Filter) {
	for name, to := range map[string]*string{"actor": &f.Actor, "action": &f.Action, "target": &f.Target} {
		*to, _ = l.Params.String(name, &l.Rules)
	}
	f.From, f.To = l.Time("from"), l.Time("to")
	return f
}

// auditFormats are how an export is written, by what that is called.
var auditFormats = map[string]auditFormat{
	"jsonl": {"application/x-ndjson", nil, auditLines},
	"csv":   {"text/csv; charset=utf-8", auditColumns, auditRows},
}

type auditFormat struct {
	contentType string
	columns     []string // in the first line; nil for none
	write       func(*bytes.Buffer, []audit.Entry) error
}

// encode writes entries. first says that nothing stands before them.
func (f auditFormat) encode(entries []audit.Entry, first bool) ([]byte, error) {
	var b bytes.Buffer
	if first && f.columns != nil {
		b.WriteString(strings.Join(f.columns, ",") + "\r\n")
	}
	err := f.write(&b, entries)
	return b.Bytes(), err
}

// EncodeAudit writes entries as an export in a format has them: jsonl or csv. first says that nothing stands before them.
func EncodeAudit(format string, entries []audit.Entry, first bool) ([]byte, error) {
	f, ok := auditFormats[format]
	if !ok {
		return nil, errors.New("it must be jsonl or csv")
	}
	return f.encode(entries, first)
}

// exportBytes is what the entries of a batch take at most, and exportTimeout how long a client may take to read it.
const (
	exportBytes   = 8 << 20
	exportTimeout = 30 * time.Second
)

// exportAudit answers GET /audit-log/export. What cannot be finished is cut off, so that nobody takes it for the whole.
func (a *API) exportAudit(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadExport(c)
	if err != nil {
		return err
	}
	f := auditFilter(l)
	name, given := l.Params.String("format", &l.Rules)
	format, known := auditFormats[name]
	if !given {
		format, known = auditFormats["jsonl"], true
	}
	l.Rules.Check(known, "format", domain.NotAllowed, "must be csv or jsonl, not %q", name)
	if err := l.Check(c); err != nil {
		return err
	}
	held := stream.Reserve(a.memory.Pages, who.Tenant())
	defer held.Release()
	waiting, stop := a.memory.Wait(c.Request.Context(), exchange.ErrListsBusy)
	err = held.Replace(waiting, min(exportBytes, a.memory.MaxPage()))
	if stop(); err != nil {
		return err
	}
	control, begun := http.NewResponseController(c.Writer), false
	send := func(entries []audit.Entry) error {
		text, err := format.encode(entries, !begun)
		if err != nil {
			return err
		}
		if !begun {
			begun = true
			h := c.Writer.Header()
			h.Set("Content-Type", format.contentType)
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Cache-Control", "no-store")
			c.Status(http.StatusOK)
		}
		_ = control.SetWriteDeadline(time.Now().Add(exportTimeout)) // without deadlines nothing waits for a client
		_, err = c.Writer.Write(text)
		return err
	}
	err = a.ports.AuditLog.Export(c.Request.Context(), who, f, send)
	if err == nil && !begun {
		err = send(nil)
	}
	if begun && err != nil {
		exchange.StateOf(c).Cause = err
		panic(http.ErrAbortHandler)
	}
	return err
}

func auditLines(b *bytes.Buffer, entries []audit.Entry) error {
	for _, e := range entries {
		if err := stream.NewJSON(b).Encode(auditBodyOf(e)); err != nil {
			return err
		}
	}
	return nil
}

var auditColumns = []string{
	"at", "id", "actorKind", "actorId", "actorName", "actorSubject", "action", "targetKind", "targetId", "changes", "requestId", "address", "sequence", "hash",
}

func auditRows(b *bytes.Buffer, entries []audit.Entry) error {
	w := csv.NewWriter(b)
	w.UseCRLF = true
	for _, e := range entries {
		body := auditBodyOf(e)
		changes, err := exchange.Encode(body.Changes)
		if err != nil {
			return err
		}
		sequence := ""
		if e.Sequence > 0 {
			sequence = strconv.FormatInt(e.Sequence, 10)
		}
		row := []string{
			body.At, body.ID, string(body.Actor.Kind), body.Actor.ID, body.Actor.Name, body.Actor.Subject, body.Action, body.Target.Kind, body.Target.ID,
			string(changes), body.RequestID, body.Address, sequence, body.Hash,
		}
		for i, text := range row {
			row[i] = plainCell(text)
		}
		_ = w.Write(row) // to memory
	}
	w.Flush()
	return w.Error()
}

// plainCell keeps a spreadsheet from taking a text for a formula (OWASP, "CSV Injection").
func plainCell(text string) string {
	if text != "" && slices.Contains([]byte("=+-@\t\r"), text[0]) {
		return "'" + text
	}
	return text
}
