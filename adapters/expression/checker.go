package expression

// Checker tells whether sources compile: it is the domain's view of the language
// when a workflow is checked. It holds nothing and may be shared.
type Checker struct{}

// CheckExpression returns nil when the source is an expression that uses no free
// name but the roots and what the language itself defines, else a *[CompileError].
func (Checker) CheckExpression(source string, roots ...string) error {
	_, err := Compile(source, roots...)
	return err
}

// CheckTemplate does the same for every expression that stands between {{ and }}
// in the text.
func (Checker) CheckTemplate(text string, roots ...string) error {
	_, err := CompileTemplate(text, roots...)
	return err
}
