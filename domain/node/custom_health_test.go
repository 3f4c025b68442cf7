package node_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/node"
)

func TestHealthIsThatOfTheEndpointThatWasAsked(t *testing.T) {
	well := node.Health{Endpoint: "https://a.example", Healthy: true, CheckedAt: noon}
	ill := node.Health{Endpoint: "", CheckedAt: noon, Code: "endpoint_missing"}
	for claim, c := range map[string]struct {
		noted    node.Health
		endpoint string
		want     node.Health
		status   node.HealthStatus
	}{
		"it was asked and lives":            {well, "https://a.example", well, node.Healthy},
		"another one was asked":             {well, "https://b.example", node.Health{}, node.HealthUnknown},
		"there is none any more":            {well, "", node.Health{}, node.HealthUnknown},
		"there was none to ask":             {ill, "", ill, node.Unhealthy},
		"there is one now that was not":     {ill, "https://a.example", node.Health{}, node.HealthUnknown},
		"nobody asked":                      {node.Health{}, "https://a.example", node.Health{}, node.HealthUnknown},
		"nobody asked, and there were none": {node.Health{}, "", node.Health{}, node.HealthUnknown},
	} {
		got := c.noted.Of(c.endpoint)
		if diff := cmp.Diff(c.want, got); diff != "" || got.Status() != c.status {
			t.Errorf("%s: %s, %s", claim, got.Status(), diff)
		}
	}
}

func TestACustomNodeRunsAtItsOwnEndpointFirst(t *testing.T) {
	c := custom(t)
	if got := c.EndpointOr("https://all.example"); got != c.Endpoint() || got == "" {
		t.Errorf("it runs at %q", got)
	}
	if err := c.Revise(node.CustomPatch{Endpoint: new("")}, noon); err != nil {
		t.Fatal(err)
	}
	if got := c.EndpointOr("https://all.example"); got != "https://all.example" {
		t.Errorf("without one of its own it runs at %q", got)
	}
}
