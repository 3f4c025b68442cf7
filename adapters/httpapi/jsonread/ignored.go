package jsonread

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/sluicehq/sluice/domain"
)

// Ignored returns the paths of the members that nobody has asked for: at most
// [domain.MaxViolations], nil for none. A value that was taken as a whole has none. Members
// that the shape has are left out, at every depth.
func (o Object) Ignored(known *Shape) []string {
	if o.tree == nil {
		return nil
	}
	var paths []string
	o.tree.ignored(o.at, known, &paths)
	return paths
}

func (t *tree) ignored(at uint32, known *Shape, paths *[]string) {
	n := t.nodes[at]
	switch n.kind {
	case array:
		for i := at + 1; i < n.after; i = t.nodes[i].after {
			if n.use == unasked || t.nodes[i].use == entered {
				t.ignored(i, known, paths)
			}
		}
	case object:
		for i := at + 1; i < n.after && len(*paths) < domain.MaxViolations; i = t.nodes[i+1].after {
			member, shape := i+1, known.memberOf(t, i)
			switch use := t.nodes[member].use; {
			case use == unasked && shape == nil:
				*paths = append(*paths, t.path(member))
			case use == entered, use == unasked && !shape.whole:
				t.ignored(member, shape, paths)
			}
		}
	case null, boolean, number, text:
	}
}

// Shape is which members the objects of a type have, as encoding/json writes it. A list has
// the shape of its elements.
type Shape struct {
	members map[string]*Shape
	every   *Shape // of the values of a map, whose names are not known beforehand
	whole   bool   // any JSON value, of which nothing is known
}

// memberOf is the shape of the member whose name is at i; nil where there is none.
func (s *Shape) memberOf(t *tree, i uint32) *Shape {
	switch {
	case s == nil:
		return nil
	case s.every != nil:
		return s.every
	}
	return s.members[t.str(i)]
}

var shapes sync.Map // by type

// ShapeOf returns the shape of a type.
func ShapeOf[T any]() *Shape {
	t := reflect.TypeFor[T]()
	if known, ok := shapes.Load(t); ok {
		return known.(*Shape) //nolint:forcetypeassert // nothing else is stored
	}
	s := shapeOf(t)
	shapes.Store(t, s)
	return s
}

func shapeOf(t reflect.Type) *Shape {
	s := &Shape{}
	switch {
	case t.Implements(reflect.TypeFor[json.Marshaler]()), t.Kind() == reflect.Interface:
		s.whole = true
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice:
		return shapeOf(t.Elem())
	case t.Kind() == reflect.Map:
		s.every = shapeOf(t.Elem())
	case t.Kind() == reflect.Struct:
		s.members = make(map[string]*Shape)
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				s.members[name] = shapeOf(f.Type)
			}
		}
	}
	return s
}
