package node

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/sluicehq/sluice/domain"
)

// Kinds of answer that an input node asks for.
const (
	answerNumber  = "number"
	answerEmail   = "email"
	answerURL     = "url"
	answerBoolean = "boolean"
)

// What catches a typing mistake in an e-mail address or a web address.
const (
	emailPattern = `^[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+$`
	urlPattern   = `^[hH][tT][tT][pP][sS]?://[^\s/?#]+([/?#]\S*)?$`
)

// The bounds of an e-mail address (RFC 5321, §4.5.3.1.3) and of a web address,
// in characters.
const (
	maxEmail = 254
	maxURL   = 2048
)

// maxFormFields is how many fields a form has at the most.
const maxFormFields = 50

// SingleAnswer is the name of the only field of a question that asks for one value.
const SingleAnswer = "value"

const formMember = "form"

// AnswerSchema says which answer an input node with this configuration accepts:
// a string for the kinds text, email and url, a number, or a boolean. It is
// required when the configuration says so.
func AnswerSchema(config map[string]any) FieldSchema {
	required, _ := config["required"].(bool)
	d := Declaration{Type: String, Required: &required}
	switch config["inputType"] {
	case answerNumber:
		d.Type = Number
	case answerBoolean:
		d.Type = Boolean
	case answerEmail:
		d.Pattern, d.MaxLength = new(emailPattern), new(float64(maxEmail))
	case answerURL:
		d.Pattern, d.MaxLength = new(urlPattern), new(float64(maxURL))
	default:
		if required { // an empty text is no answer
			d.MinLength = new(1.0)
		}
	}
	return restoreField(d)
}

// AnswerForm are the fields that an input node of this type with this configuration asks for, as
// a form shows them: by their order, then by name. single says that they are one, [SingleAnswer],
// whose value itself is the answer.
func (n NodeType) AnswerForm(config map[string]any) (form Schema, single bool) {
	if n.asksForms() {
		var r domain.Rules
		if form = readForm(&r, "", config[formMember]); form.Len() > 0 {
			return form, false
		}
	}
	return restoreSchema(Declarations{{Name: SingleAnswer, Declaration: AnswerSchema(config).Declaration()}}), true
}

// RestoreForm trusts the fields of a question that was asked.
func RestoreForm(fields Declarations) Schema { return restoreSchema(fields) }

// asksForms says whether nodes of the type can ask for several answers: those of the first
// version cannot.
func (n NodeType) asksForms() bool {
	_, declared := n.Config.Field(formMember)
	return declared
}

// readForm reads the fields of a form, and records in r what is wrong with them.
func readForm(r *domain.Rules, path string, form any) Schema {
	members, isObject := form.(map[string]any)
	if !isObject || len(members) == 0 {
		return Schema{}
	}
	text, err := json.Marshal(members)
	if err != nil {
		r.Check(false, path, domain.BadFormat, "must be JSON")
		return Schema{}
	}
	declared := ReadDeclarations(r, path, text)
	slices.SortStableFunc(declared, func(a, b DeclaredField) int {
		return cmp.Or(cmp.Compare(a.Declaration.order(), b.Declaration.order()), cmp.Compare(a.Name, b.Name))
	})
	return ParseSchema(r, path, declared)
}

// order is where a form shows the field.
func (d *Declaration) order() float64 {
	for _, m := range d.Extra {
		if m.Name == orderMember {
			value, _ := m.Value.value()
			order, _ := number(value)
			return order
		}
	}
	return 0
}

// checkInput checks the form of an input node: fields that a person can fill in.
func checkInput(r *domain.Rules, path string, config map[string]any) {
	path = domain.Member(path, formMember)
	form := readForm(r, path, config[formMember])
	r.Check(form.Len() <= maxFormFields, path, domain.TooLong, "must have at most %d fields, not %d", maxFormFields, form.Len())
	found := newFindings(r)
	for name, f := range form.All() {
		at := domain.Member(path, clip(name))
		switch f.Type() {
		case String, Number, Boolean:
		case Enum:
			found.check(!f.Dynamic(), domain.Member(at, dynamicMember), domain.NotAllowed, "must be left out: a person chooses among the values that are listed")
		default:
			found.check(false, domain.Member(at, "type"), domain.NotAllowed, "must be %s: a person cannot fill in anything else", domain.OneOf(String, Number, Boolean, Enum))
		}
		found.check(!f.IsSecret(), domain.Member(at, secretMember), domain.NotAllowed, "must be left out: answers are kept with the run")
	}
}

// inputOutputs declares the answer that an input node of the first version asks for.
func inputOutputs(config map[string]any) Declarations {
	return Declarations{{Name: SingleAnswer, Declaration: AnswerSchema(config).Declaration()}}
}

// questionOutputs declares the answer, or the answers of the form, that an input node asks for.
func questionOutputs(config map[string]any) Declarations {
	var r domain.Rules
	form := readForm(&r, "", config[formMember])
	if form.Len() == 0 {
		return inputOutputs(config)
	}
	return Declarations{{Name: SingleAnswer, Declaration: Declaration{
		Type: Object, Required: new(true), Properties: form.Declarations(), AdditionalProperties: new(false),
	}}}
}
