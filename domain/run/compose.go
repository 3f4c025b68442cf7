package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// composer puts one source together from the expressions in a configuration, so
// that they share one budget. Each expression is compiled on its own first, so that none
// reaches out of its place and a mistake is reported where it is. Each begins on a line of
// its own, by which a failure of the whole is located.
type composer struct {
	compiler Compiler
	roots    []string // of the parts
	text     strings.Builder
	lines    int // line feeds written
	parts    []part
	fault    error
	uses     uses
}

// part is one expression within a composed source.
type part struct {
	field string
	line  int // its first line, from 1
}

func (c *composer) write(text string) {
	c.text.WriteString(text)
	c.lines += strings.Count(text, "\n")
}

// expression adds one expression.
func (c *composer) expression(field, source string) {
	_, err := c.compiler.Compile(source, c.roots...)
	c.part(field, source, err)
}

// function adds an expression as a function of the parameters. An arrow function is
// taken as it is and names its parameters itself.
func (c *composer) function(field, source, parameters string, roots []string) {
	isFunction, err := c.compiler.CheckFunction(source, roots...)
	if isFunction {
		c.part(field, source, err)
		return
	}
	c.write(parameters + " => ")
	c.expression(field, source)
}

// part adds a source that was checked by itself.
func (c *composer) part(field, source string, err error) {
	if err != nil && c.fault == nil {
		c.fault = fmt.Errorf("%s: %w", field, err)
	}
	c.uses.addRoots(source)
	c.write("(\n")
	c.parts = append(c.parts, part{field, c.lines + 1})
	c.write(source)
	c.write("\n)")
}

// tree adds a JSON tree in which every string is an expression; an empty one is the
// empty string.
func (c *composer) tree(field string, value any) {
	switch v := value.(type) {
	case string:
		if v == "" {
			c.write(`""`)
		} else {
			c.expression(field, v)
		}
	case []any:
		c.write("[")
		for i, e := range v {
			c.tree(domain.Index(field, i), e)
			c.write(",")
		}
		c.write("]")
	case map[string]any:
		c.write("({")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			c.write(string(appendText(nil, name)) + ":")
			c.tree(domain.Member(field, name), v[name])
			c.write(",")
		}
		c.write("})")
	default:
		text, _ := appendValue(nil, v) // it was read from JSON
		c.write(string(text))
	}
}

// composed is a source that was put together.
type composed struct {
	evaluator
	parts []part
}

func (c *composer) compile(roots []string) *composed {
	whole := &composed{parts: c.parts}
	whole.uses = c.uses
	if whole.fault = c.fault; whole.fault == nil {
		if whole.expression, whole.fault = c.compiler.Compile(c.text.String(), roots...); whole.fault != nil {
			whole.fault = whole.located(whole.fault)
		}
		whole.uses.narrow(whole.expression, whole.fault)
	}
	return whole
}

// evaluate computes the value. more holds further roots.
func (c *composed) evaluate(v view, i int, now time.Time, more map[string]any) (any, *Failure) {
	err := c.fault
	if err == nil {
		if failure := v.ready(i, c.uses); failure != nil {
			return nil, failure
		}
		var value any
		if value, err = c.expression.Evaluate(v.env(v.values(i, c.uses, more), now)); err == nil {
			return value, nil
		}
		err = c.located(err)
	}
	return nil, &Failure{Code: CodeExpression, Message: err.Error()}
}

// located says where in the configuration a problem of the whole is.
func (c *composed) located(err error) error {
	var line, column int
	if n, _ := fmt.Sscanf(err.Error(), "line %d, column %d: ", &line, &column); n != 2 {
		return err
	}
	_, message, _ := strings.Cut(err.Error(), ": ")
	for _, p := range slices.Backward(c.parts) {
		if p.line <= line {
			return fmt.Errorf("%s: line %d, column %d: %s", p.field, line-p.line+1, column, message)
		}
	}
	return errors.New(message)
}
