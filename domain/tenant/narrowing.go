package tenant

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// Bounds of what narrows a key.
const (
	MaxNarrowingItems = 100 // workflows, node types, origins; of each
	MaxSubject        = 255 // characters
)

// Narrowing is what limits a key to a part of its tenant. The zero value limits nothing.
type Narrowing struct {
	SubTenant *SubTenantID `fact:"subTenantId"` // whose records it reaches, and to whom belongs what it creates; nil for all of the tenant
	Rights    []Right      `fact:"permissions"` // what it may do, what is included among them; nil for all that its type may do
	Workflows []string     `fact:"workflowIds"` // ids of the only workflows that it reaches; nil for all
	NodeTypes []string     // the only node types that it may publish and run; nil for all
	Subject   string       // who uses it, in the tenant's own words; empty for nobody in particular
	Origins   []string     // from which pages a browser may use it besides the gateway's own, as scheme://host:port; nil for any
	Language  Language     // in which the node registry speaks to it; empty for the tenant's
}

// check checks the narrowing, whose fields bear the names of an embed token's.
func (n Narrowing) check(r *domain.Rules) {
	if n.SubTenant != nil {
		n.SubTenant.Check(r, "subTenantId")
	}
	checkRights(r, n.Rights, "permissions")
	items := func(field string, values []string, maxLen int) {
		r.Check(values == nil || len(values) > 0, field, domain.TooShort, "must have at least one item; leave it out for no limit")
		r.Check(len(values) <= MaxNarrowingItems, field, domain.TooLong, "must have at most %d items, not %d", MaxNarrowingItems, len(values))
		for i, value := range values {
			r.Text(value, domain.Index(field, i), 1, maxLen)
			r.Check(!strings.ContainsFunc(value, isSpaceOrControl), domain.Index(field, i), domain.BadText, "must not contain spaces or control characters")
		}
	}
	items("workflowIds", n.Workflows, MaxName)
	items("nodeTypes", n.NodeTypes, MaxName)
	items("origins", n.Origins, MaxName)
	for i, origin := range n.Origins {
		checkOrigin(r, origin, domain.Index("origins", i))
	}
	r.Text(n.Subject, "subject", 0, MaxSubject)
	if n.Language != "" {
		n.Language.check(r, "language")
	}
}

func isSpaceOrControl(c rune) bool { return c <= ' ' || c == 0x7f }

func checkOrigin(r *domain.Rules, text, field string) {
	r.Check(isOrigin(text), field, domain.BadFormat, "must be an origin as browsers send it, such as https://app.example.com, not %q", text)
}

// hostOfOrigin is a host and perhaps a port. Origins become part of policies, where other characters have a meaning.
var hostOfOrigin = regexp.MustCompile(`^([a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?$`)

// isOrigin says whether a text is the origin of a page as browsers send it (RFC 6454, section 6.2): without the port that
// its scheme has anyway.
func isOrigin(text string) bool {
	host, isSecure := strings.CutPrefix(text, "https://")
	usual := ":443"
	if !isSecure {
		after, isPlain := strings.CutPrefix(text, "http://")
		if !isPlain {
			return false
		}
		host, usual = after, ":80"
	}
	return len(host) <= MaxName && hostOfOrigin.MatchString(host) && !strings.HasSuffix(host, usual)
}

// limits says whether it limits anything.
func (n Narrowing) limits() bool {
	return n.SubTenant != nil || n.Rights != nil || n.Workflows != nil || n.NodeTypes != nil || n.Subject != "" || n.Origins != nil || n.Language != ""
}

// complete is the narrowing with what its rights include.
func (n Narrowing) complete() Narrowing {
	if n.Rights != nil {
		n.Rights = completeRights(n.Rights)
	}
	return n.clone()
}

func (n Narrowing) clone() Narrowing {
	n.SubTenant = domain.CopyOf(n.SubTenant)
	n.Rights, n.Workflows, n.NodeTypes, n.Origins = slices.Clone(n.Rights), slices.Clone(n.Workflows), slices.Clone(n.NodeTypes), slices.Clone(n.Origins)
	return n
}

// within narrows a scope.
func (n Narrowing) within(owner ID) Scope {
	scope := All(owner)
	if n.SubTenant != nil {
		scope = Only(owner, *n.SubTenant)
	}
	return scope.OfWorkflows(n.Workflows)
}

// AllowsOrigin says whether a browser may use the key from a page of the origin.
func (n Narrowing) AllowsOrigin(origin string) bool {
	return n.Origins == nil || slices.Contains(n.Origins, origin)
}

// AllowsNodeType says whether versions with nodes of the type may be published and run.
func (n Narrowing) AllowsNodeType(nodeType string) bool {
	return n.NodeTypes == nil || slices.Contains(n.NodeTypes, nodeType)
}
