package workflow

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// redacted stands for a secret in what somebody sees who may only read a version.
const redacted = "[redacted]"

// WithoutSecrets is the version for somebody who may only read it: texts in the configuration of its nodes that look like
// a secret, and values whose name is that of a credential, read [redacted]. Templates stay, for what they fill in is
// not in the version.
func (v *Version) WithoutSecrets() *Version {
	var shown []Node
	for i, n := range v.state.Graph.nodes {
		clean := withoutSecrets(n.Config.String())
		if clean == n.Config.String() {
			continue
		}
		if shown == nil {
			shown = slices.Clone(v.state.Graph.nodes)
		}
		shown[i].Config = domain.RestoreDocument(clean)
	}
	if shown == nil {
		return v
	}
	s := v.State()
	s.Graph.nodes = shown // the rest of a graph does not depend on configurations
	return &Version{s}
}

// ConfigWithoutSecrets is the same of a configuration as a tree of JSON, which stays as it is.
func ConfigWithoutSecrets(config map[string]any) map[string]any {
	return treeWithoutSecrets("", config).(map[string]any) //nolint:forcetypeassert // an object stays one
}

func treeWithoutSecrets(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		clean := make(map[string]any, len(v))
		for member, one := range v {
			clean[member] = treeWithoutSecrets(member, one)
		}
		return clean
	case []any:
		clean := make([]any, len(v))
		for i, one := range v {
			clean[i] = treeWithoutSecrets(name, one)
		}
		return clean
	case string:
		return withoutSecret(name, v)
	default:
		return v
	}
}

// withoutSecrets goes through the text of a JSON value, which may be large, without taking it apart into values.
func withoutSecrets(text string) string {
	var clean strings.Builder
	var names []string // of the members around, with an empty one for what is in no object
	name, copied := "", 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '{', '[':
			names = append(names, name)
		case '}', ']':
			name = names[len(names)-1]
			names = names[:len(names)-1]
		case '"':
			end := stringEnd(text, at)
			said := decoded(text[at:end])
			if isName(text[end:]) {
				name = said
			} else if hidden := withoutSecret(name, said); hidden != said {
				clean.WriteString(text[copied:at])
				clean.WriteString(encoded(hidden))
				copied = end
			}
			at = end - 1
		}
	}
	if copied == 0 {
		return text
	}
	clean.WriteString(text[copied:])
	return clean.String()
}

// stringEnd is where the string of JSON ends that begins at a place.
func stringEnd(text string, begin int) int {
	for at := begin + 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}

// isName says whether the string before is the name of a member.
func isName(behind string) bool {
	for _, c := range []byte(behind) {
		if c > ' ' {
			return c == ':'
		}
	}
	return false
}

// secretMarks are what the shapes of secrets hold; looking for these is much faster.
var secretMarks = []string{"sk_", "rk_", "pk_", "sk-", "ghp_", "gho_", "ghu_", "ghr_", "ghs_", "github_pat_", "glpat-", "xox", "AKIA", "AIza", "SG.", "whsec_", "eyJ", "-----BEGIN ", "Bearer ", "Basic "}

func hasSecretMark(text string) bool {
	for _, mark := range secretMarks { // without a closure, which would be allocated for each text
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// withoutSecret hides a secret in the value of a member.
func withoutSecret(name, text string) string {
	if secretNames.MatchString(name) && text != "" && !strings.Contains(text, "{{") {
		return redacted
	}
	if !hasSecretMark(text) {
		return text
	}
	var clean strings.Builder
	copied := 0
	for _, at := range secretShapes.FindAllStringSubmatchIndex(text, -1) {
		clean.WriteString(text[copied:at[2]])
		clean.WriteString(redacted)
		if copied = at[3]; strings.HasPrefix(text[at[2]:], "-----BEGIN") {
			return clean.String() // the key follows
		}
	}
	clean.WriteString(text[copied:])
	return clean.String()
}

func decoded(token string) string {
	if !strings.Contains(token, `\`) {
		return token[1 : len(token)-1]
	}
	return unescaped(token)
}

func unescaped(token string) (text string) {
	if json.Unmarshal([]byte(token), &text) != nil {
		return token // which a document does not hold
	}
	return text
}

func encoded(text string) string {
	token, _ := json.Marshal(text) //nolint:errchkjson // a string has always a text
	return string(token)
}
