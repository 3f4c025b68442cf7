// Package member holds who uses the console: users, their memberships of tenants, the
// sessions they are signed in with, and the links by which they come in for the first time.
package member
