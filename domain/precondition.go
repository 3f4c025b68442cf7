package domain

import "slices"

// Expected is which revisions of a record a client is ready to change. The zero
// value means any (RFC 9110, "If-Match").
type Expected struct {
	revisions []int64
	given     bool
}

// ExpectOneOf expects one of the revisions; with none, nothing that exists.
func ExpectOneOf(revisions ...int64) Expected { return Expected{revisions: revisions, given: true} }

// Check returns a Conflict with the code precondition_failed unless the record's
// revision is one of those expected.
func (e Expected) Check(revision int64) error {
	if !e.given || slices.Contains(e.revisions, revision) {
		return nil
	}
	return Fail(Conflict, "precondition_failed",
		"The record was changed since you read it. Read it again and repeat the change with its new ETag.")
}
