package jsonread

// Text is the JSON text of the object, as [Value.Text] gives it.
func (o Object) Text() string {
	if o.tree == nil {
		return "{}"
	}
	return o.tree.compact(o.at)
}
