package domain

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Bounds of metadata; those of texts are in characters.
const (
	MaxMetadata      = 50 // pairs
	MaxMetadataKey   = 40
	MaxMetadataValue = 500
)

// Metadata is what a client keeps with a record for its own use: pairs of text that mean
// nothing to the gateway. The zero value has none.
type Metadata struct {
	text string // a JSON object, its members sorted; empty for none
}

// MetadataPatch is what a client wants to change. The zero value leaves all pairs.
type MetadataPatch struct {
	Clear bool              // takes all pairs away
	Pairs map[string]string // by key; an empty value takes its pair away
}

// MetadataFilter takes records whose metadata has all of its pairs; nil takes every record.
type MetadataFilter map[string]string

// RestoreMetadata trusts the text to be what [Metadata.String] returned.
func RestoreMetadata(text string) Metadata {
	if text == "{}" {
		return Metadata{}
	}
	return Metadata{text}
}

// String returns a JSON object, its members sorted: "{}" for none.
func (m Metadata) String() string {
	if m.text == "" {
		return "{}"
	}
	return m.text
}

// Equal says whether both have the same pairs.
func (m Metadata) Equal(other Metadata) bool { return m == other }

// Revised returns the metadata with the patch applied. It records in r, under
// metadata.<key>, each pair that breaks a bound, and under metadata when there are too many.
func (m Metadata) Revised(r *Rules, p MetadataPatch) Metadata {
	if !p.Clear && len(p.Pairs) == 0 {
		return m
	}
	pairs := make(map[string]string)
	if !p.Clear {
		_ = json.Unmarshal([]byte(m.String()), &pairs) // String is always such an object
	}
	for _, key := range slices.Sorted(maps.Keys(p.Pairs)) {
		value, field := p.Pairs[key], Member("metadata", Clip(key, MaxMetadataKey))
		r.Text(key, field, 1, MaxMetadataKey)
		r.Text(value, field, 0, MaxMetadataValue)
		if value == "" {
			delete(pairs, key)
		} else {
			pairs[key] = value
		}
	}
	r.Check(len(pairs) <= MaxMetadata, "metadata", TooLong, "must hold at most %d pairs, not %d", MaxMetadata, len(pairs))
	if len(pairs) == 0 {
		return Metadata{}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(pairs) // texts can always be written
	return Metadata{string(bytes.TrimSpace(b.Bytes()))}
}
