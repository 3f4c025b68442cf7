package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// spaced draws a document as its author may have spaced it, in which what looks like space
// and quotes also stands inside of texts.
func spaced(t *rapid.T, label string) domain.Document {
	space := rapid.SampledFrom([]string{"", " ", "\n\t", "\r\n  "})
	text := rapid.SampledFrom([]string{`""`, `"a b"`, `"\" \\"`, `"\\\\"`, `"<&>\u2028` + "\u2028" + `é"`, "1.50", "-1e400", "null", `[ ]`, `{ "x" : [1 , 2] }`, `"` + strings.Repeat("x ", chunkSize/2) + `"`})
	var b strings.Builder
	for i := range rapid.IntRange(0, 4).Draw(t, label) {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `%s"m%d"%s:%s%s%s`, space.Draw(t, "space"), i, space.Draw(t, "space"), space.Draw(t, "space"), text.Draw(t, "value"), space.Draw(t, "space"))
	}
	return domain.RestoreDocument("{" + b.String() + "}")
}

func drawnTrigger(t *rapid.T) *trigger.Trigger {
	return trigger.Restore(trigger.State{
		ID: "trg_1", Tenant: "tenant_1", Version: "wfv_1", Type: trigger.Webhook, Name: rapid.String().Draw(t, "name"),
		Config: trigger.RestoreConfig(spaced(t, "config").String()), Active: rapid.Bool().Draw(t, "active"),
	})
}

func drawnVersion(t *rapid.T) inbound.CheckedVersion {
	text := rapid.Ptr(rapid.String(), true)
	state := workflow.VersionState{ID: "wfv_1", Tenant: "tenant_1", Workflow: "wf_1", Number: rapid.Int().Draw(t, "number")}
	if rapid.Bool().Draw(t, "published") {
		at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		state.PublishedAt, state.SubTenant = &at, "team"
	}
	nodes := []workflow.Node{}
	for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
		nodes = append(nodes, workflow.Node{
			ID: workflow.NodeID(fmt.Sprint("n", i)), Name: rapid.String().Draw(t, "name"), Description: text.Draw(t, "description"),
			Config: spaced(t, "config"), InputSchema: spaced(t, "input"), OutputSchema: spaced(t, "output"),
			Position: workflow.Position{X: rapid.Float64Range(-1e21, 1e21).Draw(t, "x"), Y: -0.5},
		})
	}
	edges := []workflow.Edge{}
	for range rapid.IntRange(0, 2).Draw(t, "edges") {
		edges = append(edges, workflow.Edge{ID: "edge_1", SourceNodeID: "n0", TargetNodeID: "n1", Condition: text.Draw(t, "condition"), SourceOutputKey: text.Draw(t, "key")})
	}
	state.Graph = workflow.RestoreGraph(nodes, edges)
	return inbound.CheckedVersion{Version: workflow.RestoreVersion(state), CanPause: map[workflow.NodeID]bool{"n1": true}}
}

func drawnCustomNode(t *rapid.T) inbound.CustomNode {
	return inbound.CustomNode{Custom: node.RestoreCustom(node.CustomState{ID: "cn_1", Name: rapid.String().Draw(t, "name"), Description: strings.Repeat("y", chunkSize)})}
}

// alike compares a page that is written record by record with the same page as a whole.
func alike[T any](t *rapid.T, list exchange.LargeList[T], items []T) {
	l := &exchange.ListRequest{}
	l.PageBased = rapid.Bool().Draw(t, "page-based")
	found := domain.Page[T]{
		Items: items, Limit: rapid.IntRange(1, 100).Draw(t, "limit"), Offset: rapid.IntRange(0, math.MaxInt32).Draw(t, "offset"),
		Total: rapid.IntRange(0, math.MaxInt32).Draw(t, "total"),
	}
	list.Read = func(q domain.Query) (domain.Page[T], error) {
		if q.MaxBytes == 256<<10 {
			return domain.Page[T]{}, &domain.PageTooLarge{Bytes: 1 << 20}
		}
		return found, nil
	}
	small, large := httptest.NewRecorder(), httptest.NewRecorder()
	answered(small, &bytes.Buffer{}, func(c *gin.Context) error {
		return exchange.AnswerList(c, l, list.Render, func(domain.Query) (domain.Page[T], error) { return found, nil })
	})
	answered(large, &bytes.Buffer{}, func(c *gin.Context) error { return exchange.AnswerLargeList(c, tenant.Caller{}, l, list) })
	want := small.Body.Bytes()
	if diff := cmp.Diff(string(want), large.Body.String()); diff != "" {
		t.Fatal(diff)
	}
	if length := large.Header().Get("Content-Length"); len(want) > exchange.MaxBuffered && length != fmt.Sprint(len(want)) {
		t.Fatalf("the length of %d bytes is %s", len(want), length)
	}
	if !json.Valid(want) {
		t.Fatalf("it is no JSON: %s", want)
	}
}

func TestALargePageIsToTheByteWhatASmallOneWouldBe(t *testing.T) {
	t.Parallel()
	for what, check := range map[string]func(t *rapid.T){
		"triggers": func(t *rapid.T) {
			list := exchange.LargeList[*trigger.Trigger]{Render: renderTrigger, Write: writeTrigger}
			alike(t, list, rapid.SliceOfN(rapid.Custom(drawnTrigger), 0, 3).Draw(t, "items"))
		},
		"versions": func(t *rapid.T) {
			list := exchange.LargeList[inbound.CheckedVersion]{Render: renderVersion, Write: writeVersion}
			alike(t, list, rapid.SliceOfN(rapid.Custom(drawnVersion), 0, 3).Draw(t, "items"))
		},
		"custom nodes, which are encoded one by one": func(t *rapid.T) {
			alike(t, exchange.LargeList[inbound.CustomNode]{Render: renderCustomNode}, rapid.SliceOfN(rapid.Custom(drawnCustomNode), 0, 3).Draw(t, "items"))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, check)
		})
	}
}
