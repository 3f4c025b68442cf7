package domain

// What a record or a patch may lack is a pointer, nil for absent.

// CopyOf returns a pointer to a copy of the value, nil when it is absent.
func CopyOf[T any](value *T) *T {
	if value == nil {
		return nil
	}
	c := *value
	return &c
}

// Set changes a member to what a patch names. One that it does not name stays as it is.
func Set[T any](member *T, value *T) {
	if value != nil {
		*member = *value
	}
}

// SetOptional is Set for a member that may be absent, as it becomes when remove is true.
func SetOptional[T any](member **T, value *T, remove bool) {
	switch {
	case remove:
		*member = nil
	case value != nil:
		*member = CopyOf(value)
	}
}
