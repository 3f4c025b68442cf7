package nodes_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/application/nodes"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

const here = "https://here.example"

var well = outbound.NodeHealth{Healthy: true, Status: 200, Latency: 12345 * time.Microsecond}

func TestANewCustomNodeIsAskedOnceItIsThere(t *testing.T) {
	w := newEnv(t)
	w.endpoint.answer = outbound.NodeHealth{Latency: 5 * time.Second, Code: "timeout", Message: "It did not answer."}
	ctx, leave := context.WithCancel(t.Context())
	w.endpoint.during = func(asking context.Context) {
		leave() // the client does not wait for it
		if asking.Err() != nil {
			t.Error("the heartbeat ends with the client")
		}
		page, err := w.custom.List(t.Context(), w.who, node.CustomFilter{}, domain.Query{})
		if err != nil || page.Total != 1 {
			t.Errorf("while it is asked there are %d custom nodes: %v", page.Total, err)
		}
		err = w.store.Do(t.Context(), func(context.Context, outbound.Stores) error { return nil }) // waits for ever inside another unit
		if err != nil {
			t.Error(err)
		}
	}
	made, err := w.custom.Create(ctx, w.who, domain.IdempotencyKey{}, node.CustomDraft{Type: "score", Name: "Score", Version: "1.0.0", Endpoint: here})
	if err != nil {
		t.Fatal(err)
	}
	want := node.Health{Endpoint: here, CheckedAt: noon, Latency: 5 * time.Second, Code: "timeout", Message: "It did not answer."}
	for how, got := range map[string]node.Health{"the creation": made.Health, "reading it": w.health(made.ID())} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s shows %s", how, diff)
		}
	}
	check := w.endpoint.asked[0]
	if check.Tenant != w.who.Tenant() || check.Timeout != nodes.HeartbeatTimeout || len(check.Secrets) != 1 || !check.Secrets[0].Equal(*made.Secret) {
		t.Errorf("the heartbeat was %+v", check)
	}
}

func TestACustomNodeStandsWhateverComesOfItsHeartbeat(t *testing.T) {
	w := newEnv(t)
	w.endpoint.err = errors.New("the process cannot call")
	made := w.create("score", here)
	if got := made.Health.Status(); got != node.HealthUnknown || w.health(made.ID()) != (node.Health{}) {
		t.Errorf("it is %s, and shown as %+v", got, w.health(made.ID()))
	}
	if _, err := w.checks.Check(t.Context(), w.who, domain.IdempotencyKey{}, made.ID()); !errors.Is(err, w.endpoint.err) {
		t.Errorf("a check that was asked for hides it: %v", err)
	}
	w.endpoint.err, w.endpoint.answer = nil, well
	w.endpoint.during = func(context.Context) {
		if err := w.custom.Delete(t.Context(), w.who, made.ID()); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.checks.Check(t.Context(), w.who, domain.IdempotencyKey{}, made.ID()); !errors.Is(err, domain.NotFound) {
		t.Errorf("a check of what was deleted meanwhile: %v", err)
	}
}

func TestOnlyAnotherEndpointIsAsked(t *testing.T) {
	w := newEnv(t)
	w.endpoint.answer = well
	own, shared := w.create("own", here), w.create("shared", "")
	w.create("shared.too", "")
	patch := func(id node.CustomID, p node.CustomPatch) inbound.CustomNode {
		t.Helper()
		changed, err := w.custom.Update(t.Context(), w.who, id, p)
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	settings := func(p tenant.SettingsPatch) {
		t.Helper()
		if _, err := w.settings.Update(t.Context(), w.who, p); err != nil {
			t.Fatal(err)
		}
	}
	w.endpoint.calls()
	for _, step := range []struct {
		what   string
		change func()
		asked  []string
		own    node.HealthStatus
		shared node.HealthStatus
	}{
		{"another name", func() { patch(own.ID(), node.CustomPatch{Name: new("New")}) }, nil, node.Healthy, node.Healthy},
		{"the same endpoint", func() { patch(own.ID(), node.CustomPatch{Endpoint: new(here)}) }, nil, node.Healthy, node.Healthy},
		{"another endpoint", func() { patch(own.ID(), node.CustomPatch{Endpoint: new("https://there.example")}) },
			[]string{"https://there.example"}, node.Healthy, node.Healthy},
		{"another language", func() { settings(tenant.SettingsPatch{Language: new(tenant.Spanish)}) }, nil, node.Healthy, node.Healthy},
		{"the tenant's endpoint, once for all that share it", func() { settings(tenant.SettingsPatch{CustomNodeEndpoint: new("https://all.example")}) },
			[]string{"https://all.example"}, node.Healthy, node.Healthy},
		{"no endpoint of the tenant's", func() { settings(tenant.SettingsPatch{CustomNodeEndpoint: new("")}) }, nil, node.Healthy, node.HealthUnknown},
		{"none at all", func() { patch(own.ID(), node.CustomPatch{Endpoint: new("")}) }, []string{""}, node.Healthy, node.HealthUnknown},
	} {
		step.change()
		if diff := cmp.Diff(step.asked, w.endpoint.calls()); diff != "" {
			t.Errorf("%s: asked are %s", step.what, diff)
		}
		if got := w.health(own.ID()).Status(); got != step.own {
			t.Errorf("%s: the one with an endpoint of its own is %s", step.what, got)
		}
		if got := w.health(shared.ID()).Status(); got != step.shared {
			t.Errorf("%s: the one without is %s", step.what, got)
		}
	}
}

func TestNobodyIsAskedAboutTheTenantsEndpointThatNoCustomNodeUses(t *testing.T) {
	w := newEnv(t)
	w.create("own", here)
	w.endpoint.calls()
	if _, err := w.settings.Update(t.Context(), w.who, tenant.SettingsPatch{CustomNodeEndpoint: new("https://all.example")}); err != nil {
		t.Fatal(err)
	}
	if asked := w.endpoint.calls(); asked != nil {
		t.Errorf("asked are %v", asked)
	}
	if _, err := w.settings.Update(t.Context(), w.who, tenant.SettingsPatch{CustomNodeEndpoint: new("nowhere")}); !errors.Is(err, domain.Invalid) {
		t.Errorf("settings that are not valid: %v", err)
	}
}

func TestACheckIsMadeOnceForItsKey(t *testing.T) {
	w := newEnv(t)
	made := w.create("score", here)
	w.endpoint.answer = well
	w.endpoint.calls()
	found, err := w.checks.Check(t.Context(), w.who, once("k", "same"), made.ID())
	if want := (node.Health{Endpoint: here, Healthy: true, CheckedAt: noon, Latency: 12 * time.Millisecond}); err != nil || found.Health != want {
		t.Fatalf("%+v, %v", found.Health, err)
	}
	for range 2 {
		var replay *domain.Replay
		if _, err := w.checks.Check(t.Context(), w.who, once("k", "same"), made.ID()); !errors.As(err, &replay) || string(replay.Answer) != string(made.ID())+" healthy" {
			t.Errorf("the repeat got %v", err)
		}
	}
	if _, err := w.checks.Check(t.Context(), w.who, once("k", "other"), made.ID()); domain.KindOf(err) != domain.Invalid {
		t.Errorf("the key for another request got %v", err)
	}
	if asked := w.endpoint.calls(); len(asked) != 1 {
		t.Errorf("the endpoint was asked %d times", len(asked))
	}
	// A repeat that comes while the first one asks finds out afterwards.
	w.endpoint.during = func(context.Context) {
		w.endpoint.during = nil
		if _, err := w.checks.Check(t.Context(), w.who, once("K", "same"), made.ID()); err != nil {
			t.Error(err)
		}
	}
	var replay *domain.Replay
	if _, err := w.checks.Check(t.Context(), w.who, once("K", "same"), made.ID()); !errors.As(err, &replay) {
		t.Errorf("the slower one got %v", err)
	}
}

func TestACreationIsRecordedWithItsHealth(t *testing.T) {
	w := newEnv(t)
	w.endpoint.answer = well
	draft := node.CustomDraft{Type: "score", Name: "Score", Version: "1.0.0", Endpoint: here}
	made, err := w.custom.Create(t.Context(), w.who, once("k", "same"), draft)
	if err != nil {
		t.Fatal(err)
	}
	var replay *domain.Replay
	if _, err := w.custom.Create(t.Context(), w.who, once("k", "same"), draft); !errors.As(err, &replay) || string(replay.Answer) != string(made.ID())+" healthy" {
		t.Errorf("the repeat got %v", err)
	}
	if asked := w.endpoint.calls(); len(asked) != 1 {
		t.Errorf("the endpoint was asked %d times", len(asked))
	}
}

func TestNobodyElseIsAskedAboutACustomNode(t *testing.T) {
	w := newEnv(t)
	made := w.create("score", here)
	w.endpoint.calls()
	other := w.tenant(portstest.CountedFrom(1000))
	public := tenant.Caller{Scope: tenant.All(w.who.Tenant()), KeyType: tenant.Public}
	for claim, c := range map[string]struct {
		who  tenant.Caller
		id   node.CustomID
		kind domain.Kind
	}{
		"another tenant":       {other, made.ID(), domain.NotFound},
		"nothing of the name":  {w.who, "cn_absent", domain.NotFound},
		"a key that is public": {public, made.ID(), domain.Forbidden},
	} {
		if _, err := w.checks.Check(t.Context(), c.who, domain.IdempotencyKey{}, c.id); domain.KindOf(err) != c.kind {
			t.Errorf("%s: %v", claim, err)
		}
	}
	if asked := w.endpoint.calls(); asked != nil {
		t.Errorf("asked are %v", asked)
	}
}
