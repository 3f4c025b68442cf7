package workflows

import (
	"context"
	"strings"
	"sync"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// checkedExpressions remembers what became of the sources that were checked.
type checkedExpressions struct {
	outbound.Expressions
	mu      sync.Mutex
	checked map[string]checkedSource
}

type checkedSource struct {
	isFunction bool
	named      []workflow.Named
	err        error
}

func (c *checkedExpressions) check(kind, source string, roots []string, check func() checkedSource) checkedSource {
	key := kind + "\x00" + strings.Join(roots, "\x00") + "\x00" + source
	c.mu.Lock()
	defer c.mu.Unlock()
	found, known := c.checked[key]
	if !known {
		found = check()
		c.checked[key] = found
	}
	return found
}

// CheckExpression checks an expression once.
func (c *checkedExpressions) CheckExpression(source string, roots ...string) ([]workflow.Named, error) {
	found := c.check("expression", source, roots, func() (s checkedSource) {
		s.named, s.err = c.Expressions.CheckExpression(source, roots...)
		return s
	})
	return found.named, found.err
}

// CheckFunction checks a function once.
func (c *checkedExpressions) CheckFunction(source string, roots ...string) (bool, []workflow.Named, error) {
	found := c.check("function", source, roots, func() (s checkedSource) {
		s.isFunction, s.named, s.err = c.Expressions.CheckFunction(source, roots...)
		return s
	})
	return found.isFunction, found.named, found.err
}

// CheckTemplate checks a template once.
func (c *checkedExpressions) CheckTemplate(text string, roots ...string) ([]workflow.Named, error) {
	found := c.check("template", text, roots, func() (s checkedSource) {
		s.named, s.err = c.Expressions.CheckTemplate(text, roots...)
		return s
	})
	return found.named, found.err
}

// CheckURLTemplate checks the template of a URL once.
func (c *checkedExpressions) CheckURLTemplate(text string, roots ...string) ([]workflow.Named, error) {
	found := c.check("url", text, roots, func() (s checkedSource) {
		s.named, s.err = c.Expressions.CheckURLTemplate(text, roots...)
		return s
	})
	return found.named, found.err
}

// checkAhead checks the expressions of a version before the unit of work that needs them,
// which others may have to wait for: a large graph takes a second. What it finds, and whether
// the version is there, the unit finds again.
func (s *Versions) checkAhead(ctx context.Context, who tenant.Caller, id workflow.VersionID, reserve func(*workflow.Version) error) (outbound.Expressions, error) {
	ahead := &checkedExpressions{Expressions: s.expressions, checked: make(map[string]checkedSource)}
	var ver *workflow.Version
	var env workflow.Environment
	err := s.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		if ver, err = st.Versions.Get(ctx, who.Tenant, id); err == nil {
			env, err = s.environment(ctx, st, who, id, ahead)
		}
		return err
	})
	if err != nil {
		return ahead, nil //nolint:nilerr // the unit says so, unless it has an answer to repeat
	}
	if err := reserve(ver); err != nil {
		return nil, err
	}
	if !ver.Active() {
		workflow.Check(ver.Graph(), env)
	}
	return ahead, nil
}
