// Package connection holds the credentials that a tenant keeps for its workflows: what
// authenticates a call, to which hosts it may ever be sent, and whose workflows it serves.
//
// A [Connection] is valid or absent. What is secret of it is a [Secret], which prints as
// dots, and what a call bears is a [Credential], which hides what it holds, too, and finds
// its own text again in what comes back.
package connection
