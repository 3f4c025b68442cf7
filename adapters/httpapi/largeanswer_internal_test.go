package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// chunkSize is that of the encoder.
const chunkSize = 32 << 10

// served answers one request with a value, behind all middleware.
func served(w http.ResponseWriter, log io.Writer, value any) {
	answered(w, log, func(c *gin.Context) error { return exchange.WriteJSON(c, http.StatusOK, value) })
}

// answered runs a handler behind all middleware.
func answered(w http.ResponseWriter, log io.Writer, handle func(c *gin.Context) error) {
	gin.SetMode(gin.ReleaseMode)
	opts := Budgeted(Options{Log: zerolog.New(log), NewID: func(prefix string) string { return prefix + "_1" }})
	a := &API{opts: opts}
	a.exchange.Now = time.Now
	a.exchange.Memory, _ = opts.Memory.Complete() // it has its budgets
	engine := gin.New()
	engine.Use(a.middleware()...)
	engine.GET("/", func(c *gin.Context) {
		if err := handle(c); err != nil {
			exchange.Fail(c, err)
		}
	})
	engine.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
}

// document draws a JSON object of up to a few pieces; some are as long as a piece, or a
// byte shorter or longer.
func document(t *rapid.T, label string) json.RawMessage {
	const frame = len(`{"v":""}`)
	size := rapid.OneOf(rapid.IntRange(frame, 100), rapid.IntRange(chunkSize-frame, chunkSize+frame), rapid.IntRange(frame, 3*chunkSize)).Draw(t, label)
	return json.RawMessage(`{"v":"` + strings.Repeat("x", size-frame) + `"}`)
}

// drawnRun is a run of which some nodes gave something.
func drawnRun(t *rapid.T) *run.Run {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := run.State{
		Origin: run.Origin{
			ID: "run_1", Tenant: "tenant_1", Workflow: "wf_1", Version: "wfv_1", Cause: run.CauseManual, CreatedAt: at,
			Entity: rapid.String().Draw(t, "entity"), Payload: document(t, "payload"),
		},
		Status: run.StatusFailed, Seq: 7, UpdatedAt: at, StartedAt: &at, Failure: &run.Failure{Code: "timeout", Message: `"<&>"` + "\u2028", Node: "n0"},
	}
	s.Retries = rapid.IntRange(0, 2).Draw(t, "retries")
	for i := range rapid.IntRange(0, 6).Draw(t, "nodes") {
		id := workflow.NodeID(fmt.Sprintf("n%d%s", i, rapid.SampledFrom([]string{"", `"`, "é\n"}).Draw(t, "id")))
		if i == 1 {
			id = "input"
		}
		n := run.NodeState{ID: id, Status: run.NodeCompleted, Attempts: i, Branch: "true", StartedAt: &at}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			n.Status, n.Failure = run.NodeFailed, &run.Failure{Code: "x", Message: "y", Node: id}
		case 1:
			n.Status, n.Pause = run.NodeWaiting, &run.Pause{Kind: run.PauseInput, Since: at, Until: &at}
		case 2:
			n.OutputIsInput = true
		default:
			n.Output = document(t, "output")
		}
		s.Nodes = append(s.Nodes, n)
		if n.Status == run.NodeCompleted {
			s.Executed = append(s.Executed, id)
		}
	}
	return run.Restore(s)
}

// plainly is the value of JSON as encoding/json reads it.
func plainly(t *rapid.T, text []byte) (value any) {
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	return value
}

// contextOf is what the context of a run is to become.
func contextOf(t *rapid.T, r *run.Run) any {
	data, executed := map[string]any{}, []any{}
	for _, id := range r.Executed() {
		output, _ := r.Output(id)
		data[string(id)] = plainly(t, output)
		executed = append(executed, string(id))
	}
	data["input"] = plainly(t, r.Payload()) // also where a node has that id
	return map[string]any{"data": data, "metadata": map[string]any{
		"runId": string(r.ID()), "entityId": r.Entity(), "tenantId": string(r.Tenant()), "executedNodes": executed,
	}}
}

// whole is what a run, or a simulation, is to become, made of its parts in one go.
func whole(t *rapid.T, head any, r *run.Run, nodes []runNodeBody, more map[string]any) any {
	text, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	all, _ := plainly(t, text).(map[string]any)
	list := []any{}
	for i := range nodes {
		text, err := json.Marshal(&nodes[i])
		if err != nil {
			t.Fatal(err)
		}
		n, _ := plainly(t, text).(map[string]any)
		for name, kept := range map[string]json.RawMessage{"input": nodes[i].input, "output": nodes[i].output} {
			if kept != nil {
				n[name] = plainly(t, kept)
			}
		}
		list = append(list, n)
	}
	all["nodes"], all["context"] = list, contextOf(t, r)
	for name, value := range more {
		all[name] = value
	}
	return all
}

// sizes keeps what is written, and how much at once.
type sizes struct {
	*httptest.ResponseRecorder
	most int
}

func (s *sizes) Write(b []byte) (int, error) {
	s.most = max(s.most, len(b))
	return s.ResponseRecorder.Write(b)
}

func (s *sizes) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

func TestALargeAnswerIsThatOfItsPartsInOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawnRun(t)
		var value any
		var want any
		if rapid.Bool().Draw(t, "simulated") {
			at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
			inputs := map[workflow.NodeID]json.RawMessage{"n0": document(t, "input")}
			body, _ := renderSimulation(inbound.Simulated{Trace: run.Trace{
				Run: r, History: []run.Entry{{Seq: 1, Type: run.EntryRunStarted, At: at}, {Seq: 2, Type: run.EntryRunFailed, At: at}}, Open: []workflow.NodeID{"a", "b"},
				Effects: []run.Effect{{At: at, Execute: run.Execute{Node: "n0", Input: map[string]any{"a": json.Number("1.50")}}}},
			}, Inputs: inputs}).(simulationBody)
			entry := func(seq float64, kind string) any {
				return map[string]any{"seq": seq, "type": kind, "at": "2027-01-01T00:00:00.000Z"}
			}
			value, want = body, whole(t, body, r, body.nodes, map[string]any{
				"history": []any{entry(1, "run.started"), entry(2, "run.failed")}, "loops": []any{}, "open": []any{"a", "b"},
				"effects": []any{map[string]any{
					"nodeId": "n0", "type": "", "attempt": 0.0, "at": "2027-01-01T00:00:00.000Z", "idempotencyKey": "", "input": map[string]any{"a": 1.5},
					"config": nil, "mayRepeat": false,
				}},
			})
		} else {
			body, _ := renderRun(shown(r)).(runBody)
			value, want = body, whole(t, body, r, body.nodes, nil)
		}
		kept, err := stream.Marshal("200", value.(stream.Body))
		if err != nil {
			t.Fatal(err)
		}
		sent := &sizes{ResponseRecorder: httptest.NewRecorder()}
		served(sent, io.Discard, value)
		if got := "200" + sent.Body.String(); got != string(kept) || cap(kept) != len(kept) {
			t.Errorf("it is sent as %.300s and kept as %.300s, in %d bytes of %d", got, kept, len(kept), cap(kept))
		}
		if diff := cmp.Diff(want, plainly(t, sent.Body.Bytes())); diff != "" {
			t.Error(diff)
		}
		length := strconv.Itoa(sent.Body.Len())
		if sent.Body.Len() <= exchange.MaxBuffered {
			length = ""
		}
		if got := sent.Header().Get("Content-Length"); got != length || sent.most > chunkSize {
			t.Errorf("of %s bytes, %d were sent at once", got, sent.most)
		}
	})
}

// part is a large answer that goes wrong.
type part struct {
	first, then any
	times       *int
}

func (b part) EncodeTo(e *stream.Encoder) {
	e.Open(map[string]any{"a": 1})
	e.Document("filler", json.RawMessage(`"`+strings.Repeat("x", 2*chunkSize)+`"`))
	e.Name("b")
	if *b.times++; *b.times == 1 {
		e.Value(b.first)
	} else {
		e.Value(b.then)
	}
	e.Close()
}

// gone is a client that goes away after some bytes.
type gone struct {
	*httptest.ResponseRecorder
	after int
}

var errGone = errors.New("broken pipe")

func (g *gone) Write(b []byte) (int, error) {
	if g.Body.Len()+len(b) > g.after {
		return 0, errGone
	}
	return g.ResponseRecorder.Write(b)
}

func TestAnAnswerThatCannotBeFinishedIsCutOff(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		first, then any
		after       int
		cut         bool
		want        string // in the log
	}{
		"a client that goes away":                    {1, 1, chunkSize, true, `"status":200,"code":"connection_cut","cause":"broken pipe","bytes":32768,`},
		"a client that has gone":                     {1, 1, 0, true, `"status":200,"code":"connection_cut","cause":"broken pipe","bytes":0,`},
		"another length the second time":             {1, 22, math.MaxInt, true, `"status":200,"code":"connection_cut","cause":"an answer is not as long as it was when it was measured: 65562 bytes and not 65561","bytes":65562,`},
		"what cannot be encoded the second time":     {1, math.Inf(1), math.MaxInt, true, `"code":"connection_cut","cause":"json: unsupported value: +Inf",`},
		"what cannot be encoded is an error as any":  {math.NaN(), 1, math.MaxInt, false, `"status":500,"code":"internal_error","cause":"json: unsupported value: NaN",`},
		"a whole one, for the others to differ from": {1, 1, math.MaxInt, false, `"status":200,"bytes":65561,`},
	} {
		var log bytes.Buffer
		client := &gone{httptest.NewRecorder(), c.after}
		cut := func() (thrown any) {
			defer func() { thrown = recover() }()
			served(client, &log, part{c.first, c.then, new(int)})
			return nil
		}()
		if (cut == any(http.ErrAbortHandler)) != c.cut || !strings.Contains(log.String(), c.want) {
			t.Errorf("%s: %v: %s", claim, cut, log.String())
		}
		if !c.cut && client.Result().Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %v", claim, client.Result().Header)
		}
	}
}
