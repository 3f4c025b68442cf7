package workflow

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
)

// HostNotAllowed is a warning: the URL of a node leads to a host that the connection may not be
// sent to.
const HostNotAllowed domain.ViolationCode = "host_not_allowed"

// Connections lists the connections that nodes name without an expression, each once.
func (g Graph) Connections(types node.Registry) (named []connection.ID) {
	for _, n := range g.nodes {
		version, err := node.ParseSemVer(n.Version)
		if err != nil {
			continue
		}
		kind, known := types.Lookup(node.Type(n.Type), version)
		if !known {
			continue
		}
		config, _ := object(n.Config)
		if _, id := kind.Connection(config); id != "" && !strings.Contains(id, "{{") && !slices.Contains(named, connection.ID(id)) {
			named = append(named, connection.ID(id))
		}
	}
	return named
}

// checkConnection reports what stands in a member that may only name a connection and is none
// that the version may use, and warns of a URL that it may not be sent to.
func (c *checker) checkConnection(config subject, s *step) {
	named := 0
	for name, f := range s.kind.Config.All() {
		text, _ := s.config[name].(string)
		if !f.IsSecret() || text == "" {
			continue
		}
		at := config.member(name)
		if named++; named > 1 {
			c.found.add(at, domain.Conflicting, "must be left out: a node calls with one connection")
			continue
		}
		if s.kind.HasTemplates && strings.Contains(text, "{{") {
			continue // the run finds out
		}
		used, known := c.env.Connections[connection.ID(text)]
		switch {
		case !domain.ValidIdentifier(text, connection.IDPrefix):
			c.found.add(at, domain.BadFormat, "must be the id of a connection, which begins with %s_: a secret is never written into a version", connection.IDPrefix)
		case !known:
			c.found.add(at, domain.Unknown, "must be the id of a connection that the sub-tenant may use; there is no %s", quote(NodeID(text)))
		case !used.Active():
			c.found.add(at, domain.NotAllowed, "must be the id of a connection that is active; %s is switched off", quote(NodeID(text)))
		default:
			c.checkHost(config, s, used)
		}
	}
}

// checkHost warns where the host of a URL is written out and the connection does not name it.
func (c *checker) checkHost(config subject, s *step, used *connection.Connection) {
	if s.kind.URLMember == "" {
		return
	}
	text, _ := s.config[s.kind.URLMember].(string)
	before, _, isTemplate := strings.Cut(strings.TrimSpace(text), "{{")
	if isTemplate && strings.Count(before, "/") < 3 {
		return // an expression may give the rest of the host
	}
	u, err := url.Parse(before)
	if err != nil {
		return // which is reported otherwise
	}
	target, ok := connection.TargetOf(u, func(string) (string, error) { return "", errNotASCII })
	if ok && !used.Hosts().Cover(target) {
		c.warned.add(config.member(s.kind.URLMember), HostNotAllowed, "leads to a host that the connection may not be sent to, which is none of %s: such a call fails",
			strings.Join(used.Hosts().Texts(), ", "))
	}
}

// errNotASCII leaves internationalized names to the run, which can write them as they are
// looked up.
var errNotASCII = errors.New("workflow: the name is not ASCII")
