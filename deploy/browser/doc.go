// Package browser opens what the gateway shows in a real browser: nothing that tenants answer hooks with can act on its origin, and pages
// for answers work for everybody, without JavaScript.
package browser
