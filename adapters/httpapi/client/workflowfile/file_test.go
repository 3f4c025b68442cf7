package workflowfile

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/hook"
)

func TestWhatMeansTheSameHasOneText(t *testing.T) {
	const usual = `{"sluice": 1, "name": "A", "nodes": [{"id": "a", "type": "t", "version": "1", "name": "A"}], "edges": [{"sourceNodeId": "a", "targetNodeId": "b"}],
		"triggers": [{"name": "T", "type": "webhook", "hook": {"scheme": {"preset": "github"}}}]}`
	const said = `{"edges": [{"targetNodeId": "b", "label": "", "condition": null, "sourceNodeId": "a"}], "metadata": {}, "description": "", "draft": false,
		"triggers": [{"config": {}, "metadata": {}, "type": "webhook", "name": "T", "hook": {"scheme": {"preset": "github"}, "secrets": [], "ingest": false, "rawBody": false, "event": null,
			"respond": {"mode": "immediately"}, "allowFrom": [], "limits": {"perMinute": 600, "concurrent": 20.0}}}],
		"nodes": [{"position": {"x": 0.0, "y": 0e0}, "config": {}, "inputSchema": {}, "outputSchema": {}, "name": "A", "version": "1", "type": "t", "id": "a", "parentId": ""}],
		"name": "A", "sluice": 1, "runRetentionDays": null}`
	var texts []string
	for _, content := range []string{usual, said} {
		w, err := Parse("a.json", []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(w.Text()))
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Error(diff)
	}
}

func TestTheUsualLimitsAreThoseOfTheGateway(t *testing.T) {
	limits, _ := hookShape.named("limits")
	for name, want := range map[string]int{"perMinute": hook.DefaultPerMinute, "concurrent": hook.DefaultConcurrent} {
		if m, _ := limits.named(name); m.usual != json.Number(fmt.Sprint(want)) {
			t.Errorf("%s is usually %v, not %d", name, m.usual, want)
		}
	}
	if respond, _ := hookShape.named("respond"); inline(respond.usual, shape{}) != strings.ReplaceAll(hook.Respond{}.Document().String(), ":", ": ") {
		t.Errorf("a hook usually answers %v", respond.usual)
	}
}

func TestWhatWasWrittenIsReadAsTheSame(t *testing.T) {
	value := rapid.Deferred(func() *rapid.Generator[any] { return anyValue(2) })
	rapid.Check(t, func(t *rapid.T) {
		node := map[string]any{"id": "a", "type": rapid.SampledFrom([]string{"code", "transform"}).Draw(t, "type"), "version": "1", "name": rapid.String().Draw(t, "name"),
			"config": map[string]any{"source": rapid.String().Draw(t, "source"), "other": value.Draw(t, "other")}}
		first := &Workflow{document: canonical(map[string]any{"name": rapid.StringN(1, -1, -1).Draw(t, "workflow"), "nodes": []any{node}, "edges": []any{}})}
		second, err := Parse("a.json", first.Text())
		if err != nil {
			t.Fatalf("%v of %s", err, first.Text())
		}
		if diff := cmp.Diff(string(first.Text()), string(second.Text())); diff != "" {
			t.Fatal(diff)
		}
	})
}

func anyValue(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Just[any](json.Number("12345678901234567890.10")))
	if depth == 0 {
		return leaf
	}
	inner := anyValue(depth - 1)
	return rapid.OneOf(leaf, rapid.SliceOf(inner).AsAny(), rapid.MapOf(rapid.StringMatching(`[a-z"\n.]{0,4}`), inner).AsAny())
}

func TestADifferenceHasTheLinesAround(t *testing.T) {
	lines := func(from, to int) (text string) {
		for i := from; i <= to; i++ {
			text += fmt.Sprintln(i)
		}
		return text
	}
	got := unified(lines(1, 30), lines(1, 4)+"five\n"+lines(6, 24)+lines(26, 30)+"31\n")
	want := `@@ -2,7 +2,7 @@
 2
 3
 4
-5
+five
 6
 7
 8
@@ -22,9 +22,9 @@
 22
 23
 24
-25
 26
 27
 28
 29
 30
+31
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := unified("", "a\n"); got != "@@ -0,0 +1,1 @@\n+a\n" {
		t.Errorf("of nothing: %s", got)
	}
	if got := unified("a\n", "a\n"); got != "" {
		t.Errorf("of the same: %s", got)
	}
}

func TestTemplatesAreFilesInTheirOneText(t *testing.T) {
	all, err := ReadFolder("../../../../domain/template/files")
	if err != nil || len(all) < 12 {
		t.Fatalf("%d: %v", len(all), err)
	}
	for _, w := range all {
		text, err := os.ReadFile(w.File)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(w.Text())); diff != "" {
			t.Errorf("%s: %s", w.File, diff)
		}
	}
}

func TestLargeTextsAreComparedAsAWhole(t *testing.T) {
	text := func(name string) string {
		var b strings.Builder
		for i := range 4000 {
			fmt.Fprintln(&b, name, i)
		}
		return b.String()
	}
	got := unified("same\n"+text("a")+"end\n", "same\n"+text("b")+"end\n")
	if !strings.HasPrefix(got, "@@ -1,4002 +1,4002 @@\n same\n-a 0\n") || !strings.HasSuffix(got, "\n+b 3999\n end\n") || strings.Count(got, "\n") != 8003 {
		t.Errorf("%d lines, which begin with %.80s", strings.Count(got, "\n"), got)
	}
}

func TestValuesThatAreTooDeepAreRefused(t *testing.T) {
	_, err := Parse("a.json", []byte(strings.Repeat("[", 100_000)))
	if err == nil || !strings.Contains(err.Error(), "a.json:1: is no JSON: values are more than 200 levels deep in one another") {
		t.Errorf("%.200v", err)
	}
}
