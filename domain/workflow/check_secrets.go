package workflow

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain/node"
)

// secretShapes are what the keys look like that services give out, and what bears one.
var secretShapes = regexp.MustCompile(`(?:^|[^0-9A-Za-z])(` +
	`(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,}|` + // Stripe
	`sk_[0-9A-Za-z]{40}|` + // ours
	`sk-[0-9A-Za-z_-]{20,}|` + // OpenAI and the like
	`gh[pousr]_[0-9A-Za-z]{30,}|github_pat_[0-9A-Za-z_]{30,}|glpat-[0-9A-Za-z_-]{20,}|` +
	`xox[abprs]-[0-9A-Za-z-]{10,}|` + // Slack
	`AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|` + // AWS, Google
	`SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}|` + // SendGrid
	`whsec_[0-9A-Za-z+/=]{20,}|` +
	`eyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}|` + // a JSON Web Token
	`-----BEGIN [A-Z ]*PRIVATE KEY-----|` +
	`(?:Bearer|Basic) +[0-9A-Za-z._~+/=-]{16,}` +
	`)`)

// secretNames are names of headers, parameters and settings whose value is a secret.
var secretNames = regexp.MustCompile(`(?i)^(?:x[-_])?(?:authorization|proxy[-_]authorization|api[-_]?key|auth[-_]?(?:key|token)|access[-_]?token|secret|secret[-_]?key|client[-_]?secret|password|private[-_]?key)$`)

// leastSecret is how long a text under such a name is that is taken for a secret.
const leastSecret = 12

// checkSecrets warns of texts that look like a secret: a version shows them to all who read it.
func (c *checker) checkSecrets(about subject, s step) {
	walkNamed(about, "", s.config, func(at subject, name, text string) {
		field, declared := s.kind.Config.Field(name)
		plain, from := !strings.Contains(text, "{{"), 0
		switch found := secretShapes.FindStringSubmatchIndex(text); {
		case found != nil:
			from = found[2]
		case declared && field.IsSecret():
			return // it can only be a connection
		case plain && secretNames.MatchString(name) && len(text) >= leastSecret && s.kind.Type != node.Condition:
		default:
			return
		}
		c.warned.addAt(at, placeIn(text, from), LiteralSecret, "looks like a secret, and a version shows it to everyone who may change it: take it out, and call with a "+
			"connection")
	})
}

// walkNamed visits every string within a JSON tree with the name of the member that holds it.
func walkNamed(about subject, name string, value any, visit func(at subject, name, text string)) {
	switch v := value.(type) {
	case string:
		visit(about, name, v)
	case []any:
		for i, item := range v {
			walkNamed(about.item(i), name, item, visit)
		}
	case map[string]any:
		for _, member := range slices.Sorted(maps.Keys(v)) {
			walkNamed(about.member(member), member, v[member], visit)
		}
	}
}
