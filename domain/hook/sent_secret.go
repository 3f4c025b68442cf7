package hook

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// authorization is the header of the kinds basic and bearer.
const authorization = "authorization"

// sentSecrets finds what a request bears for a method whose sender sends the secret itself.
func (m method) sentSecrets(r Request) (given []string, reason Reason) {
	switch m.kind {
	case KindSecretHeader:
		return m.inHeader(r)
	case KindBasic, KindBearer:
		given, reason = m.inHeader(r)
		if reason != "" {
			return nil, reason
		}
		name, credentials, _ := strings.Cut(given[0], " ")
		if !strings.EqualFold(name, string(m.kind)) {
			return nil, SignatureMalformed
		}
		if credentials = strings.TrimLeft(credentials, " "); m.kind == KindBearer {
			return []string{credentials}, ""
		}
		decoded, err := base64.StdEncoding.DecodeString(credentials)
		if err != nil {
			return nil, SignatureMalformed
		}
		return []string{string(decoded)}, ""
	case KindURLSecret:
		query, err := url.ParseQuery(r.Query)
		switch {
		case err != nil:
			return nil, SignatureMalformed
		case len(query[m.carried]) == 0:
			return nil, SignatureMissing
		case len(query[m.carried]) > 1:
			return nil, SignatureRepeated
		}
		return query[m.carried], ""
	default:
		return m.inBody(r)
	}
}

func (m method) inHeader(r Request) ([]string, Reason) {
	values := r.Headers[m.header]
	switch len(values) {
	case 0:
		return nil, SignatureMissing
	case 1:
		text, ok := strings.CutPrefix(values[0], m.prefix)
		if !ok {
			return nil, SignatureMalformed
		}
		return []string{text}, ""
	default:
		return nil, SignatureRepeated
	}
}

// inBody finds the secret in each item of a list; all have to bear it.
func (m method) inBody(r Request) ([]string, Reason) {
	list, member, _ := strings.Cut(m.carried, ".[].")
	var body map[string]json.RawMessage
	var items []map[string]json.RawMessage
	if json.Unmarshal(r.Body, &body) != nil || json.Unmarshal(body[list], &items) != nil {
		return nil, SignatureMalformed
	}
	given := make([]string, len(items))
	for i, item := range items {
		if item[member] == nil || json.Unmarshal(item[member], &given[i]) != nil {
			return nil, SignatureMissing
		}
	}
	if len(given) == 0 {
		return nil, SignatureMissing
	}
	return given, ""
}
