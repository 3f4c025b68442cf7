package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestListsThatNobodyFollowsCostNothing(t *testing.T) {
	s := &Store{}
	if n := testing.AllocsPerRun(100, func() {
		u := Unit{store: s, followed: s.lists.followed.Load()}
		if u.ListsFollowed("tenant_1") {
			t.Error("somebody follows")
		}
		u.store.lists.publish(u.followed, u.listChanges, u.unnoted)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// exchange carries notices from one process to another.
func exchange(from, to *Lists) {
	requests, changes := from.Take("origin")
	for topic, texts := range map[string][]string{ListRequestTopic: requests, ListTopic: changes} {
		for _, text := range texts {
			_, words, _ := strings.Cut(text, " ")
			to.Receive(topic, strings.Fields(words))
		}
	}
}

func TestProcessesExchangeChangesOfListsThatAreFollowed(t *testing.T) {
	var here, there Lists
	here.Connect(func() {})
	there.Connect(func() {})
	var heard []change.Change
	lost := 0
	stop := there.follow("tenant_1", func(changes []change.Change) {
		if heard = append(heard, changes...); len(changes) == 0 {
			lost++
		}
	})
	exchange(&there, &here)
	exchange(&here, &there)
	if lost != 1 || len(heard) > 0 {
		t.Fatalf("a first request is answered by %d, %v", lost, heard)
	}
	exchange(&there, &here)
	there.Renew()
	exchange(&there, &here)
	want := change.Change{
		Tenant: "tenant_1", SubTenant: "a \"team\"\n\x00é", Mixed: true, Kind: change.Pause, Operation: change.Created, ID: "run_1", Node: "n 1", Workflow: "wf_1", Parent: "run_0", Endpoint: "whk_1",
	}
	long := want
	long.Node = workflow.NodeID(strings.Repeat("x", MaxNotice/2+1))
	here.publish(here.followed.Load(), []change.Change{want, {Tenant: "tenant_2", Kind: change.Run}}, false)
	exchange(&here, &there)
	if diff := cmp.Diff([]change.Change{want}, heard); diff != "" || lost != 1 {
		t.Errorf("lost %d times: %s", lost, diff)
	}
	here.publish(here.followed.Load(), []change.Change{long}, false)
	if exchange(&here, &there); lost != 2 {
		t.Errorf("what does not fit: lost %d times", lost)
	}
	for i := range maxPendingChanges + 1 {
		here.publish(here.followed.Load(), []change.Change{{Tenant: "tenant_1", Kind: change.Run, ID: fmt.Sprint(i)}}, false)
	}
	if exchange(&here, &there); lost != 3 || len(heard) != 1 {
		t.Errorf("too many: lost %d times", lost)
	}
	here.publish(here.followed.Load(), []change.Change{want}, false)
	here.Take("origin")
	here.Untaken()
	if exchange(&here, &there); lost != 4 {
		t.Errorf("what could not be sent: lost %d times", lost)
	}
	there.Receive(ListTopic, []string{"of another version"})
	stop()
	here.publish(here.followed.Load(), []change.Change{want}, false)
	if exchange(&here, &there); len(heard) != 1 {
		t.Errorf("heard after the end: %v", heard)
	}
	for owner := range here.requested {
		here.requested[owner] = here.requested[owner].Add(-listRequestTTL)
	}
	if here.Renew(); here.followed.Load() != nil {
		t.Error("what nobody requests any more is still followed")
	}
	if here.Connect(nil); here.wake != nil {
		t.Error("it is still connected")
	}
}

func TestNoticesHoldAsManyWordsAsFit(t *testing.T) {
	words := make([]tenant.ID, 1000)
	for i := range words {
		words[i] = tenant.ID(fmt.Sprintf("tenant_%026d", i))
	}
	var got []string
	for _, text := range PackNotices("ORIGIN", words) {
		origin, rest, _ := strings.Cut(text, " ")
		if len(text) > MaxNotice || origin != "ORIGIN" {
			t.Errorf("%d bytes of %s", len(text), origin)
		}
		got = append(got, strings.Fields(rest)...)
	}
	if len(got) != len(words) || got[999] != string(words[999]) {
		t.Errorf("%d words", len(got))
	}
	if texts := PackNotices[string]("ORIGIN", nil); len(texts) != 0 {
		t.Errorf("of nothing: %v", texts)
	}
}
