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

// CheckFunction tells whether the source is an arrow function, whose parameters it may
// use besides the roots, and with a *[CompileError] what is wrong with one that is.
func (Checker) CheckFunction(source string, roots ...string) (isFunction bool, err error) {
	return checkFunction(source, Limits{}.settings(roots))
}

// CheckTemplate does the same as CheckExpression for every expression that stands
// between {{ and }} in the text.
func (Checker) CheckTemplate(text string, roots ...string) error {
	_, err := CompileTemplate(text, roots...)
	return err
}
