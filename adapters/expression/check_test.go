package expression

import (
	"errors"

	"github.com/sluicehq/sluice/domain/workflow"
)

// check reads a source whose roots are of any type.
func check(form workflow.Form, text string, roots []string) (workflow.Checked, error) {
	s := workflow.Source{Text: text, Form: form}
	for _, name := range roots {
		s.Roots = append(s.Roots, workflow.Root{Name: name})
	}
	checked := Checker{}.Check(s)
	if checked.Problem != "" {
		return checked, errors.New(checked.Problem)
	}
	return checked, nil
}

func checkExpression(text string, roots ...string) ([]workflow.Named, error) {
	checked, err := check(workflow.Expression, text, roots)
	return checked.Named, err
}

func checkTemplateText(text string, roots ...string) ([]workflow.Named, error) {
	checked, err := check(workflow.Template, text, roots)
	return checked.Named, err
}

func checkURLTemplate(text string, roots ...string) ([]workflow.Named, error) {
	checked, err := check(workflow.URLTemplate, text, roots)
	return checked.Named, err
}

func checkFunction(text string, roots ...string) (isFunction bool, named []workflow.Named, err error) {
	checked, err := check(workflow.EachItem, text, roots)
	if !checked.IsFunction {
		return false, nil, nil
	}
	return true, checked.Named, err
}
