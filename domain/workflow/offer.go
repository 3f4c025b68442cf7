package workflow

import "github.com/sluicehq/sluice/domain/typing"

// OfferKind says what an offer is of.
type OfferKind string

// The kinds of offers.
const (
	OfferVariable  OfferKind = "variable"  // a root
	OfferParameter OfferKind = "parameter" // of a function around the place
	OfferMember    OfferKind = "member"    // of an object
	OfferNode      OfferKind = "node"      // the id of a node, as a member of the root that holds what nodes gave
	OfferMethod    OfferKind = "method"    // of a value
	OfferFunction  OfferKind = "function"  // that the language has
	OfferNamespace OfferKind = "namespace" // a name of the language with members
	OfferConstant  OfferKind = "constant"  // of the language
	OfferValue     OfferKind = "value"     // that something is compared with
)

// Offer is something that could stand at a place of a text.
type Offer struct {
	Name      string
	Insert    string // what is written in place of what stands there
	From      int    // the byte of the text from which on that is replaced, up to [Offers.To]
	Kind      OfferKind
	Type      typing.Type // of what is no function
	Signature string      // of a function or method
	About     string      // one line; empty when nothing is said
}

// Offers are all that could stand at a place.
type Offers struct {
	From, To int // the bytes of the text that most of them replace
	List     []Offer
	Partial  bool // there are more of them, of which only some are listed

	// Of is an expression that gives what the offered members are of; empty where they are no
	// members, or where that depends on what a function is called with.
	Of string
}
