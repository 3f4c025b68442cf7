package tenant

import "strconv"

// ActorKind says what sort of actor did something.
type ActorKind string

// The kinds of actor.
const (
	ByKey        ActorKind = "apiKey"
	ByEmbedToken ActorKind = "embedToken"
	ByLink       ActorKind = "link" // whoever has the address of a page
	ByHook       ActorKind = "hook" // whoever delivers to it
	ByMember     ActorKind = "member"
	ByOperator   ActorKind = "operator"
)

// Actor is who did something, as it is remembered.
type Actor struct {
	Kind    ActorKind
	ID      string // of the key, the token, the user or the trigger of the hook; empty where there is none
	Subject string // who uses it, in the tenant's own words, or the member's name; empty for nobody in particular
}

// Actor is who asks.
func (c Caller) Actor() Actor {
	switch {
	case c.Hook != "":
		return Actor{Kind: ByHook, ID: c.Hook}
	case c.KeyType == Session:
		return Actor{Kind: ByMember, ID: string(c.Member.User), Subject: c.Member.Name}
	case c.Key == "":
		return Actor{Kind: ByOperator}
	case c.KeyType == Embed:
		return Actor{Kind: ByEmbedToken, ID: string(c.Key), Subject: c.Narrowing.Subject}
	}
	return Actor{Kind: ByKey, ID: string(c.Key), Subject: c.Narrowing.Subject}
}

// String names the actor in a message for the tenant.
func (a Actor) String() string {
	name := map[ActorKind]string{
		ByKey: "the key " + a.ID, ByMember: "the member " + a.ID, ByEmbedToken: "the embed token " + a.ID, ByLink: "somebody who has its link", ByHook: "a delivery to the hook of the trigger " + a.ID, ByOperator: "the operator",
	}[a.Kind]
	if name == "" {
		name = string(a.Kind)
	}
	switch {
	case a.Kind == ByMember && a.Subject != "":
		name = a.Subject + " (" + a.ID + ")"
	case a.Subject != "":
		name += " for " + strconv.Quote(a.Subject)
	}
	return name
}
