package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/application/workflows"
)

// A list that is too long is refused by its length, before anything is made of its elements.
func TestAListThatIsTooLongIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	c := g.customer("Acme")
	many := func(of string) string { return "[" + strings.Repeat(of+",", 20_000) + of + "]" }
	for _, r := range []struct{ path, body, want string }{
		{"/v1/gateway/workflow-versions/" + string(c.version), `{"nodes":` + many("{}") + `}`, "nodes too_long"},
		{"/v1/gateway/workflow-versions/" + string(c.version), `{"edges":` + many("{}") + `}`, "edges too_long"},
		{"/v1/gateway/settings", `{"events":` + many("{}") + `}`, "events too_long"},
		{"/v1/gateway/settings", `{"disabledNodeTypes":` + many(`""`) + `}`, "disabledNodeTypes too_long"},
		{"/v1/gateway/settings", `{"embed":{"origins":` + many(`""`) + `}}`, "embed.origins too_long"},
	} {
		got := g.send(http.MethodPatch, r.path, c.secret, r.body)
		if diff := cmp.Diff([]string{r.want}, got.violations(t)); got.status != http.StatusBadRequest || diff != "" {
			t.Errorf("%s got %d: %s", r.want, got.status, diff)
		}
	}
}

func TestAVersionIsCheckedOnlyWithinTheMemory(t *testing.T) {
	t.Parallel()
	memory := budget.New(1 << 20)
	g := newGateway(t, func(_ *httpapi.Options, ports *httpapi.Ports) {
		if versions, ok := ports.Versions.(*workflows.Versions); ok {
			versions.WithBudget(memory)
		}
	})
	c := g.customer("Acme")
	path := "/v1/gateway/workflow-versions/" + string(c.version)
	for values, want := range map[int]string{100: "200 <nil>", 30_000: "409 version_too_complex"} {
		body := `{"nodes":[{"id":"a","type":"transform","version":"1.0.0","name":"A","config":{"transformType":"expression","expression":"1","x":[` +
			strings.Repeat("[],", values) + `0]}}]}`
		if got := g.send(http.MethodPatch, path, c.secret, body); got.status != http.StatusOK {
			t.Fatalf("it is not saved: %s", got.body)
		}
		got := g.send(http.MethodPost, path+"/validate", c.secret, "")
		if said := fmt.Sprint(got.status, " ", got.field(t, "code")); said != want {
			t.Errorf("validating one of %d values: %s", values, said)
		}
		if memory.Used() != 0 {
			t.Errorf("%d bytes are held", memory.Used())
		}
	}
}
