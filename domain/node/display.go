package node

import (
	"slices"

	"github.com/sluicehq/sluice/domain"
)

// Members of a field schema that forms are drawn with.
const (
	titleMember       = "title"       // a name for people
	placeholderMember = "placeholder" // shown while nothing is entered
	widgetMember      = "widget"      // one of widgets
	orderMember       = "order"       // a number by which a form sorts its fields
	enumLabelsMember  = "enumLabels"  // names for people of the values of an enum, in their order or by value
	secretMember      = "secret"
	dynamicMember     = "dynamic" // the values of an enum are known to the form only
)

var widgets = []string{"text", "textarea", "code", "password", "select", "keyValue", "expression"}

// extra checks the members that say nothing about the field's values.
func (p *parser) extra(path string, members []ExtraMember) {
	for _, m := range members {
		at := domain.Member(path, clip(m.Name))
		p.found.check(!holdsNUL(map[string]any{m.Name: nil}), at, domain.BadText, "must have a name without the character U+0000")
		if value, ok := p.literal(at, m.Value); ok {
			p.display(at, m.Name, value)
		}
	}
}

// display checks a member that says how editors show a field. One that is blank says nothing.
func (p *parser) display(at, name string, value any) {
	if value == nil || value == "" {
		return
	}
	switch name {
	case titleMember, placeholderMember:
		p.displayText(at, value)
	case widgetMember:
		text, _ := value.(string)
		p.found.check(slices.Contains(widgets, text), at, domain.NotAllowed, "must be %s, not %s", domain.OneOf(widgets...), show(value))
	case orderMember:
		_, ok := number(value)
		p.found.check(ok, at, domain.WrongType, "must be a number, not %s", kindOf(value))
	case secretMember:
		_, ok := value.(bool)
		p.found.check(ok, at, domain.WrongType, "must be true or false, not %s", kindOf(value))
	case enumLabelsMember:
		switch labels := value.(type) {
		case []any:
			for i, label := range labels {
				p.displayText(domain.Index(at, i), label)
			}
		case map[string]any:
			for _, of := range sortedKeys(labels) {
				p.displayText(domain.Member(at, clip(of)), labels[of])
			}
		default:
			p.found.check(false, at, domain.WrongType, "must be an array of texts, or an object with a text for each value, not %s", kindOf(value))
		}
	}
}

func (p *parser) displayText(at string, value any) {
	text, ok := value.(string)
	p.found.check(ok, at, domain.WrongType, "must be a string, not %s", kindOf(value))
	p.found.text(text, at, 0, maxDescription)
}

// isDynamic says whether the values of an enum are known to the form only.
func (d *Declaration) isDynamic() bool {
	return slices.ContainsFunc(d.Extra, func(m ExtraMember) bool {
		value, err := m.Value.value()
		return m.Name == dynamicMember && err == nil && value == true
	})
}

// ShownText is a text that forms are drawn with, such as the title of a field; empty for none.
func (d Declaration) ShownText(member string) string {
	for _, m := range d.Extra {
		if m.Name == member {
			value, _ := m.Value.value()
			text, _ := value.(string)
			return text
		}
	}
	return ""
}

// DefaultText spells the default of a field that holds no other values; empty for none.
func (d Declaration) DefaultText() string {
	if d.Default == nil {
		return ""
	}
	value, err := d.Default.value()
	if text, isText := value.(string); isText || err != nil {
		return text
	}
	return string(d.Default)
}

// EnumLabels are the names for people of the values of an enum, in their order.
func (d Declaration) EnumLabels() []string {
	var given any
	for _, m := range d.Extra {
		if m.Name == enumLabelsMember {
			given, _ = m.Value.value()
		}
	}
	labels := make([]string, len(d.Enum))
	for i, literal := range d.Enum {
		labels[i] = Declaration{Default: literal}.DefaultText()
		label := ""
		switch all := given.(type) {
		case []any:
			if i < len(all) {
				label, _ = all[i].(string)
			}
		case map[string]any:
			label, _ = all[labels[i]].(string)
		}
		if label != "" {
			labels[i] = label
		}
	}
	return labels
}
