// Package browser holds what tenants answer with against a real browser: nothing of it can act on the gateway's origin.
package browser
