package workflow

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/sluicehq/sluice/domain"
)

// MaxPins is how long the pins of a version may be, in bytes of JSON.
const MaxPins = 256 << 10

// Pins are sample data that a version keeps for trying it: what nodes give, by their ids. They
// are no part of what the version does. The zero value has none.
type Pins struct{ text domain.Document }

// RestorePins trusts the text to be what [Pins.String] returned.
func RestorePins(text string) Pins { return Pins{domain.RestoreDocument(text)} }

// String returns a JSON object: "{}" for none.
func (p Pins) String() string { return p.text.String() }

// Empty says that there are none.
func (p Pins) Empty() bool { return p == Pins{} }

// Equal says whether both have the same text.
func (p Pins) Equal(other Pins) bool { return p == other }

// byNode are the pins by the texts of the nodes' ids.
func (p Pins) byNode() (pins map[NodeID]json.RawMessage) {
	if !p.Empty() {
		_ = json.Unmarshal([]byte(p.String()), &pins) // it is an object
	}
	return pins
}

// revised is what a patch leaves of the pins, for nodes as they are after it: the pins of the
// patch, or those there were, without the pins of nodes that have gone. It records in r what is
// wrong with the patch.
func (p Pins) revised(r *domain.Rules, patch *domain.Document, nodes []Node) Pins {
	known := make(map[NodeID]bool, len(nodes))
	for _, n := range nodes {
		known[n.ID] = true
	}
	if patch != nil {
		given := Pins{*patch}
		size := len(given.String())
		r.Check(size <= MaxPins, "pins", domain.TooLarge, "must be at most %d bytes of JSON, not %d", MaxPins, size)
		if size > MaxPins {
			return p
		}
		for _, id := range slices.Sorted(maps.Keys(given.byNode())) {
			r.Check(known[id], domain.Member("pins", clip(string(id))), domain.Unknown, "must be for a node of this version; there is no %q", clip(string(id)))
		}
		return given
	}
	pins := p.byNode()
	before := len(pins)
	maps.DeleteFunc(pins, func(id NodeID, _ json.RawMessage) bool { return !known[id] })
	if len(pins) == before {
		return p
	}
	text, _ := json.Marshal(pins) // what was read can be written
	return RestorePins(string(text))
}

// Pinned walks the sample data of the nodes that the version has, by their ids.
func (v *Version) Pinned() iter.Seq2[NodeID, json.RawMessage] {
	return func(yield func(NodeID, json.RawMessage) bool) {
		for id, output := range v.state.Pins.byNode() {
			if _, known := v.state.Graph.index[id]; known && !yield(id, output) {
				return
			}
		}
	}
}
