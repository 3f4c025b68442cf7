package exchange

import (
	"encoding/json"
	"strings"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
)

// maxChangedPairs is how many pairs a body may add, change and take away.
const maxChangedPairs = 10 * domain.MaxMetadata

// ReadMetadata reads the optional member metadata. A pair that is null or empty is taken
// away, and so are all of them by a metadata that is.
func ReadMetadata(body jsonread.Object, r *domain.Rules) domain.MetadataPatch {
	const member = "metadata"
	sent, present := body.Get(member)
	if !present || sent.IsNull() || sent.Text() == `""` {
		return domain.MetadataPatch{Clear: present}
	}
	pairs, ok := sent.Object(r)
	if !ok {
		return domain.MetadataPatch{}
	}
	p := domain.MetadataPatch{Pairs: make(map[string]string)}
	for key, value := range pairs.All() {
		if len(p.Pairs) == maxChangedPairs || r.Full() {
			r.Check(false, member, domain.TooLong, "must name at most %d pairs", maxChangedPairs)
			break
		}
		text, ok := "", true
		if !value.IsNull() {
			text, ok = value.String(r)
		}
		if ok {
			p.Pairs[key] = text
		}
	}
	return p
}

// RenderMetadata is metadata as an answer shows it.
func RenderMetadata(m domain.Metadata) json.RawMessage { return json.RawMessage(m.String()) }

// Metadata reads the filters metadata[key]=value; nil for none.
func (l *ListRequest) Metadata() domain.MetadataFilter {
	var f domain.MetadataFilter
	for _, name := range l.Params.Names() {
		key, ok := strings.CutPrefix(name, "metadata[")
		if key, closed := strings.CutSuffix(key, "]"); ok && closed {
			value, _ := l.Params.String(name, &l.Rules)
			l.Rules.Text(key, name, 1, domain.MaxMetadataKey)
			l.Rules.Text(value, name, 1, domain.MaxMetadataValue)
			if f == nil {
				f = make(domain.MetadataFilter)
			}
			f[key] = value
		}
	}
	l.Rules.Check(len(f) <= domain.MaxMetadata, "metadata", domain.TooLong, "must be asked for with at most %d pairs, not %d", domain.MaxMetadata, len(f))
	return f
}
