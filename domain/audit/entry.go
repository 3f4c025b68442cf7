package audit

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// ID identifies an entry.
type ID string

// IDPrefix begins every [ID].
const IDPrefix = "aud"

// DefaultRetention is how long entries are kept unless the operator says otherwise.
const DefaultRetention = 400 * 24 * time.Hour

// ActorKind says by what somebody acted.
type ActorKind string

// The kinds of actors.
const (
	ByKey         ActorKind = "apiKey"
	ByEmbedToken  ActorKind = "embedToken"
	ByMember      ActorKind = "member" // who is signed in to the console
	ByOperator    ActorKind = "operator"
	ByCommandLine ActorKind = "commandLine"
	ByLink        ActorKind = "link" // who came with a link, without an account
)

// Actor is who acted.
type Actor struct {
	Kind    ActorKind
	ID      string // of the key, the token or the user; of the operator the name of the token; of who came with a link none
	Name    string // for people; empty for none
	Subject string // who used an embed token, in the tenant's own words; empty for nobody in particular
}

// Act is what somebody is about to do, and how it reached the gateway.
type Act struct {
	Actor     Actor
	Action    string // the operation, as in the API description
	RequestID string // empty where there was no request
	Address   string // of who made the request; empty where there was none
}

// ActOf is what a caller does through an operation.
func ActOf(who tenant.Caller, op tenant.Operation) Act {
	act := Act{Action: string(op)}
	switch who.KeyType {
	case tenant.Session:
		act.Actor = Actor{Kind: ByMember, ID: string(who.Member.User), Name: who.Member.Name}
	case tenant.Embed:
		act.Actor = Actor{Kind: ByEmbedToken, ID: string(who.Key), Name: who.KeyName, Subject: who.Narrowing.Subject}
	default:
		act.Actor = Actor{Kind: ByKey, ID: string(who.Key), Name: who.KeyName, Subject: who.Narrowing.Subject}
	}
	return act
}

// Target is what an act changed.
type Target struct {
	Kind string // workflow, trigger …
	ID   string
}

// Entry is one change. Who it was, from where and what changed are values: each enters the chain by a salted hash, so
// that it can be erased and the chain still holds. The salts are derived from that of the entry, until a value is
// erased: then the entry's is forgotten, and each value that is left has its own.
type Entry struct {
	ID        ID
	Tenant    tenant.ID // empty in the operator's log
	At        time.Time
	ActorKind ActorKind
	ActorID   string
	Action    string
	Target    Target
	RequestID string
	Salt      string // hex; empty once a value was erased
	Values    []Value
	Sequence  int64 // its place in the chain, from 1; 0 until it is sealed
	Hash      Hash  // zero until it is sealed
}

// Value is something of an entry that can be erased.
type Value struct {
	Name string // one of the names below, or changePrefix and the name of a field
	Old  string // JSON; empty where there was none
	New  string // JSON; empty where there is none
	Salt string // hex; empty once it is erased, and while its entry has one
	Hash Hash   // zero while its entry has a salt
}

// Unreadable stands for the values of an entry of which nothing can be read but a text. It has no hash, and so the entry
// counts as altered.
func Unreadable(text string) Value { return Value{Name: changePrefix + "unreadable", New: quote(text)} }

// Names of values. A field that changed has a prefix of its own.
const (
	actorName    = "actor.name"
	actorSubject = "actor.subject"
	address      = "address"
	changePrefix = "changes."
)

// Change is a field that changed.
type Change struct {
	Field string
	Old   string // JSON; empty where there was none
	New   string // JSON; empty where there is none
}

// SaltBytes is how long a salt is.
const SaltBytes = 16

// New makes the entry of an act on a target in the log of a tenant, or in the operator's, which has none. Of the target
// before and after are known: before is nil for one that was made, and after for one that was removed. salt is random: SaltBytes, in hexadecimal digits.
func New(id ID, a Act, log tenant.ID, on Target, before, after domain.Facts, now time.Time, salt string) Entry {
	e := Entry{
		ID: id, Tenant: log, At: now, ActorKind: a.Actor.Kind, ActorID: a.Actor.ID, Action: a.Action, Target: on, RequestID: a.RequestID, Salt: salt,
	}
	for _, said := range []struct{ name, text string }{{actorName, a.Actor.Name}, {actorSubject, a.Actor.Subject}, {address, a.Address}} {
		if said.text != "" {
			e.Values = append(e.Values, Value{Name: said.name, New: quote(said.text)})
		}
	}
	names := slices.Collect(maps.Keys(before))
	for name := range after {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if before[name] != after[name] {
			e.Values = append(e.Values, Value{Name: changePrefix + name, Old: before[name].String(), New: after[name].String()})
		}
	}
	return e
}

// Actor is who acted; a name or a subject that was erased is empty.
func (e Entry) Actor() Actor {
	return Actor{Kind: e.ActorKind, ID: e.ActorID, Name: e.said(actorName), Subject: e.said(actorSubject)}
}

// Address is where the request came from; empty where there was none, and once it is erased.
func (e Entry) Address() string { return e.said(address) }

func (e Entry) said(name string) string {
	for _, v := range e.Values {
		if v.Name == name {
			return unquote(v.New)
		}
	}
	return ""
}

// Changes are the fields that changed, in the order of their names. One that was erased has neither value.
func (e Entry) Changes() []Change {
	var all []Change
	for _, v := range e.Values {
		if field, ok := strings.CutPrefix(v.Name, changePrefix); ok {
			all = append(all, Change{field, v.Old, v.New})
		}
	}
	return all
}

// Filter says which entries fit. Empty members fit all.
type Filter struct {
	Actor  string // the identifier
	Action string
	Target string // the identifier
	From   *time.Time
	To     *time.Time // before which they were made
}

// Erase leaves only the hashes of values that are to be forgotten, and says how many those are: of an entry that is
// chained, too, the chain still holds.
func (e *Entry) Erase(forget func(json string) bool) (erased int) {
	values := slices.Clone(e.salted())
	for i := range values {
		if v := &values[i]; v.Old != "" && forget(v.Old) || v.New != "" && forget(v.New) {
			v.Old, v.New, v.Salt = "", "", ""
			erased++
		}
	}
	if erased > 0 {
		e.Salt, e.Values = "", values
	}
	return erased
}
