package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// chain is a sealed chain of some entries.
func chain(n int) (audit.Head, []audit.Entry) {
	head := audit.Head{Tenant: "tenant_1"}
	var all []audit.Entry
	for i := range n {
		act := audit.Act{Actor: audit.Actor{Kind: audit.ByKey, ID: "key_1", Name: "Ännas key", Subject: "anna"}, Action: "changeWorkflow", RequestID: "req", Address: "192.0.2.1"}
		all = append(all, audit.New(audit.ID(fmt.Sprintf("aud_%d", i)), act, "tenant_1", audit.Target{Kind: "workflow", ID: "wf_1"},
			domain.Facts{"name": domain.TextFact(`"a"`), "same": domain.TextFact("1")}, domain.Facts{"name": domain.TextFact(`"b"`), "same": domain.TextFact("1"), "more": domain.TextFact("2")},
			noon.Add(time.Duration(i)*time.Second), fmt.Sprintf("%032d", i)))
	}
	seal(&head, all)
	return head, all
}

// seal puts entries at the end of a chain.
func seal(head *audit.Head, all []audit.Entry) {
	links := make([]audit.Link, len(all))
	for i, e := range all {
		links[i].Digest = e.Digest()
	}
	head.Seal(links)
	for i, l := range links {
		all[i].Sequence, all[i].Hash = l.Sequence, l.Hash
	}
}

func verify(head audit.Head, known *audit.Hash, all []audit.Entry) []string {
	var exported *audit.Known
	if known != nil {
		exported = &audit.Known{Hash: *known}
	}
	return verifyKnown(head, exported, all)
}

func verifyKnown(head audit.Head, known *audit.Known, all []audit.Entry) []string {
	v := audit.NewVerifier(head, known)
	for _, e := range all {
		v.Next(e)
	}
	v.Finish()
	told := make([]string, len(v.Problems))
	for i, p := range v.Problems {
		told[i] = p.String()
	}
	return told
}

func TestAnEntrySaysWhoDidWhat(t *testing.T) {
	_, all := chain(1)
	want := audit.Actor{Kind: audit.ByKey, ID: "key_1", Name: "Ännas key", Subject: "anna"}
	if diff := cmp.Diff(want, all[0].Actor()); diff != "" || all[0].Address() != "192.0.2.1" {
		t.Error(diff, all[0].Address())
	}
	if diff := cmp.Diff([]audit.Change{{Field: "more", New: "2"}, {Field: "name", Old: `"a"`, New: `"b"`}}, all[0].Changes()); diff != "" {
		t.Error(diff)
	}
}

func TestVerificationFindsWhatWasDone(t *testing.T) {
	for claim, one := range map[string]struct {
		do   func(head *audit.Head, all []audit.Entry) []audit.Entry
		want []string
	}{
		"nothing": {func(_ *audit.Head, all []audit.Entry) []audit.Entry { return all }, []string{}},
		"a value that was altered": {func(_ *audit.Head, all []audit.Entry) []audit.Entry {
			all[2].Values[3].New = `"c"`
			return all
		}, []string{"entry 3 (aud_2): it is not what was chained here: it was altered, or stood elsewhere"}},
		"a salt that was altered": {func(_ *audit.Head, all []audit.Entry) []audit.Entry {
			all[2].Salt += "0"
			return all
		}, []string{"entry 3 (aud_2): it is not what was chained here: it was altered, or stood elsewhere"}},
		"a value that was altered beside one that was erased": {func(_ *audit.Head, all []audit.Entry) []audit.Entry {
			all[2].Erase(func(text string) bool { return text == "2" })
			all[2].Values[0].New = `"c"`
			return all
		}, []string{"entry 3 (aud_2): actor.name was altered"}},
		"a value whose hash was altered with it": {func(_ *audit.Head, all []audit.Entry) []audit.Entry {
			_, other := chain(5)
			for _, e := range []*audit.Entry{&all[2], &other[3]} {
				e.Erase(func(text string) bool { return text == "2" })
			}
			all[2].Values[0] = other[3].Values[0]
			return all
		}, []string{"entry 3 (aud_2): it is not what was chained here: it was altered, or stood elsewhere"}},
		"an entry without its salt, whose values were blanked": {func(_ *audit.Head, all []audit.Entry) []audit.Entry {
			all[2].Salt = ""
			for i := range all[2].Values {
				all[2].Values[i] = audit.Value{Name: all[2].Values[i].Name}
			}
			return all
		}, []string{"entry 3 (aud_2): it is not what was chained here: it was altered, or stood elsewhere"}},
		"an actor that was altered": {func(_ *audit.Head, all []audit.Entry) []audit.Entry {
			all[0].ActorID = "key_2"
			return all
		}, []string{"entry 1 (aud_0): it is not what was chained here: it was altered, or stood elsewhere"}},
		"an entry that is missing": {func(_ *audit.Head, all []audit.Entry) []audit.Entry { return slices.Delete(all, 1, 2) }, []string{"entry 2: 1 missing before entry 3"}},
		"the oldest is missing":    {func(_ *audit.Head, all []audit.Entry) []audit.Entry { return all[1:] }, []string{"entry 1: 1 missing before entry 2"}},
		"the newest are missing":   {func(_ *audit.Head, all []audit.Entry) []audit.Entry { return all[:3] }, []string{"entry 4: the newest 2 are missing"}},
		"entries that were swapped": {func(_ *audit.Head, all []audit.Entry) []audit.Entry {
			all[1], all[2] = all[2], all[1]
			all[1].Sequence, all[2].Sequence = 2, 3
			return all
		}, []string{
			"entry 2 (aud_2): it is not what was chained here: it was altered, or stood elsewhere", "entry 3 (aud_1): it is not what was chained here: it was altered, or stood elsewhere",
			"entry 4 (aud_3): it is not what was chained here: it was altered, or stood elsewhere",
		}},
		"values that were erased": {func(_ *audit.Head, all []audit.Entry) []audit.Entry {
			if erased := all[1].Erase(func(string) bool { return true }); erased != 5 || all[1].Salt != "" {
				return nil
			}
			return all
		}, []string{}},
		"old entries that were pruned": {func(head *audit.Head, all []audit.Entry) []audit.Entry {
			head.Prune(all[1])
			return all[2:]
		}, []string{}},
		"all entries were pruned": {func(head *audit.Head, all []audit.Entry) []audit.Entry {
			head.Prune(all[4])
			return nil
		}, []string{}},
		"an entry was added behind the end": {func(head *audit.Head, all []audit.Entry) []audit.Entry {
			forged := *head
			more := []audit.Entry{all[0]}
			seal(&forged, more)
			return append(all, more...)
		}, []string{"there are entries behind the end of the chain, which is entry 5"}},
	} {
		t.Run(claim, func(t *testing.T) {
			head, all := chain(5)
			all = one.do(&head, all)
			if diff := cmp.Diff(one.want, verify(head, nil, all)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is left when a value was erased is nothing from which it could be guessed.
func TestNothingTellsWhatWasErased(t *testing.T) {
	_, all := chain(1)
	e := all[0]
	before := e.Digest()
	if e.Erase(func(text string) bool { return text == `"anna"` }) != 1 {
		t.Fatalf("%+v", e.Values)
	}
	salts := map[string]bool{"": true, all[0].Salt: true}
	for _, v := range e.Values {
		if v.Name == "actor.subject" {
			if v != (audit.Value{Name: v.Name, Hash: v.Hash}) {
				t.Errorf("%+v", v)
			}
			continue
		}
		if salts[v.Salt] {
			t.Errorf("%s has the salt %q, which another one has, or had", v.Name, v.Salt)
		}
		salts[v.Salt] = true
	}
	if e.Salt != "" || e.Digest() != before || all[0].Salt == "" {
		t.Error(e.Salt, e.Digest(), before)
	}
	if e.Erase(func(text string) bool { return text == `"anna"` }) != 0 || e.Erase(func(string) bool { return true }) != 4 || e.Digest() != before {
		t.Errorf("%+v", e)
	}
}

// Development versions after 0.1.0 chained entries by another formula.
func TestAChainOfTheFirstFormulaGoesOnWithTheSecond(t *testing.T) {
	hash, _ := audit.ParseHash("f3810947ab39db03c317dada2d03cf0201bdd7016b12dd28792ce731afa494ad")
	head := audit.Head{Tenant: "tenant_1", Sequence: 1, Hash: hash}
	_, all := chain(2)
	all[0].Sequence, all[0].Hash = 1, hash
	rest := all[1:]
	seal(&head, rest)
	if told := verify(head, nil, all); len(told) > 0 {
		t.Error(told)
	}
	all[0].ActorID = "key_2"
	if told := verify(head, nil, all); len(told) != 1 {
		t.Error(told)
	}
}

func TestAHeadThatWasExportedFindsAChainThatWasMadeAnew(t *testing.T) {
	head, all := chain(5)
	known, old := head.Hash, all[2].Hash
	if told := verify(head, &known, all); len(told) > 0 {
		t.Error(told)
	}
	if told := verify(head, &old, all); len(told) > 0 {
		t.Error("an earlier head is in the chain", told)
	}
	shorter := audit.Head{Tenant: head.Tenant}
	cut := all[:4]
	seal(&shorter, cut)
	if told := verify(shorter, nil, cut); len(told) > 0 {
		t.Error("with the database alone it cannot be seen", told)
	}
	if told := verify(shorter, &known, cut); len(told) != 1 || !strings.Contains(told[0], known.String()) {
		t.Error(told)
	}
	head.Prune(all[4])
	if told := verify(head, &known, nil); len(told) > 0 {
		t.Error("an exported head may be all that is left", told)
	}
}

func TestActsNameWhoeverActs(t *testing.T) {
	embed := tenant.Caller{Scope: tenant.All("tenant_1"), Key: "emb_1", KeyType: tenant.Embed, KeyName: "n", Narrowing: tenant.Narrowing{Subject: "anna"}}
	user := tenant.Caller{Scope: tenant.All("tenant_1"), KeyType: tenant.Session, Member: tenant.Member{User: "usr_1", Name: "Ben"}}
	for _, one := range []struct {
		who  tenant.Caller
		want audit.Actor
	}{
		{tenant.Caller{Scope: tenant.All("tenant_1"), Key: "key_1", KeyType: tenant.Secret, KeyName: "n"}, audit.Actor{Kind: audit.ByKey, ID: "key_1", Name: "n"}},
		{embed, audit.Actor{Kind: audit.ByEmbedToken, ID: "emb_1", Name: "n", Subject: "anna"}},
		{user, audit.Actor{Kind: audit.ByMember, ID: "usr_1", Name: "Ben"}},
	} {
		want := audit.Act{Actor: one.want, Action: "changeWorkflow"}
		if diff := cmp.Diff(want, audit.ActOf(one.who, tenant.ChangeWorkflow)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAHeadThatIsOlderThanWhatIsKept(t *testing.T) {
	head, all := chain(5)
	head.Prune(all[2])
	const begins = "begins behind entry 3 of 2026-11-21T12:00:02Z"
	for claim, one := range map[string]struct {
		known audit.Known
		want  string // empty for nothing
	}{
		"older":                            {audit.Known{Sequence: 1, Hash: all[0].Hash}, "older than what is kept, which " + begins + ": use"},
		"older or altered":                 {audit.Known{Hash: all[0].Hash}, begins + ", or entries were cut off"},
		"the last that was removed":        {audit.Known{Sequence: 3, Hash: all[2].Hash}, ""},
		"kept":                             {audit.Known{Sequence: 4, Hash: all[3].Hash}, ""},
		"the hash of another":              {audit.Known{Sequence: 5, Hash: all[3].Hash}, "not in the chain: entries were cut off"},
		"altered, behind what was removed": {audit.Known{Sequence: 4, Hash: all[0].Hash}, "not in the chain: entries were cut off"},
	} {
		told := strings.Join(verifyKnown(head, &one.known, all[3:]), "\n")
		if (one.want == "") != (told == "") || !strings.Contains(told, one.want) {
			t.Errorf("%s: %s", claim, told)
		}
	}
}

func TestEntriesThatWereRemovedBeforeTheirTime(t *testing.T) {
	head, all := chain(5)
	for pruned, want := range map[int]int64{0: 0, 2: 0, 3: 1} { // the first two are old
		if pruned > 0 {
			head.Prune(all[pruned-1])
		}
		v := audit.NewVerifier(head, nil)
		if v.Retain(noon.Add(1500 * time.Millisecond)); v.Failed != want {
			t.Error(pruned, v.Problems)
		}
		head.Pruned = audit.Anchor{}
	}
}
