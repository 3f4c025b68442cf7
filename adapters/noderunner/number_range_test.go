package noderunner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/ports/outbound"
)

// What a run keeps is shown to whoever reads it, and most readers of JSON cannot read
// such a number back (RFC 7493).
func TestANumberThatNoDoubleHoldsIsNoAnswerOfACustomNode(t *testing.T) {
	const most, least = "must be at most 1.7976931348623157e+308, not ", "must be at least -1.7976931348623157e+308, not "
	for claim, c := range map[string]struct{ value, where, why string }{
		"the value itself":                {`1e400`, "", most + "1e400"},
		"a negative one":                  {`[-1E+309]`, "[0]", least + "-1E+309"},
		"many digits":                     {`{"a":` + strings.Repeat("9", 400) + `}`, ".a", most + strings.Repeat("9", 40) + "…"},
		"the first in the text":           {`{"b":{"x":[[1],2]},"a":[0,{"n\"":2e999},3e999]}`, ".a[1].n\"", most + "2e999"},
		"a name that nobody would read":   {`{"` + strings.Repeat("n", 500) + `":1e309}`, "." + strings.Repeat("n", 40) + "…", most + "1e309"},
		"one above the greatest double":   {`{"a":1.7976931348623159e308}`, ".a", most + "1.7976931348623159e308"},
		"behind what looks like a number": {`{"a":"1e400","b":1e400}`, ".b", most + "1e400"},
	} {
		f, _ := run(t, custom(serving(t, "application/json", `{"success":true,"data":`+c.value+`}`))).(outbound.NodeFailed)
		_, said, _ := strings.Cut(f.Message, ": ")
		f.Message = said
		want := outbound.NodeFailed{Code: "answer_invalid", Message: "data" + c.where + " " + c.why + "."}
		if diff := cmp.Diff(want, f); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
		// A request that has succeeded stays so: as other JSON that cannot be read, this is text.
		completed, _ := run(t, request(t, `{"url":"URL"}`, serving(t, "application/json", c.value))).(outbound.NodeCompleted)
		if got, _ := completed.Output.(map[string]any); got["body"] != c.value {
			t.Errorf("%s, of a request: %v", claim, completed.Output)
		}
	}
}

func TestANumberThatADoubleHoldsIsKeptAsItIsSpelled(t *testing.T) {
	for _, n := range []string{"1.7976931348623157e308", "-1.7976931348623158e+308", "1e-999", "1.50E+2", "9007199254740993", strings.Repeat("9", 308)} {
		value := fmt.Sprintf(`{"a":[%s],"e":"1e400"}`, n)
		want := tree(t, value)
		completed, _ := run(t, custom(serving(t, "application/json", `{"success":true,"data":`+value+`,"more":1e400}`))).(outbound.NodeCompleted)
		if diff := cmp.Diff(want, completed.Output); diff != "" {
			t.Errorf("%s: %s", n, diff)
		}
		completed, _ = run(t, request(t, `{"url":"URL"}`, serving(t, "application/json", value))).(outbound.NodeCompleted)
		if got, _ := completed.Output.(map[string]any); cmp.Diff(want, got["body"]) != "" {
			t.Errorf("%s: %s", n, cmp.Diff(want, got["body"]))
		}
	}
	// What says it is text holds no numbers.
	completed, _ := run(t, request(t, `{"url":"URL"}`, serving(t, "text/plain", `1e400`))).(outbound.NodeCompleted)
	if got, _ := completed.Output.(map[string]any); got["body"] != "1e400" {
		t.Errorf("a text is kept as %v", completed.Output)
	}
}

func serving(t *testing.T, contentType, body string) (url string) {
	t.Helper()
	url, _ = recorder(t, says(200, body, "Content-Type", contentType))
	return url
}
