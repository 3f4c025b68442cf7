// Package egress is the driven adapter through which every call out of the gateway
// goes: httpRequest nodes, custom nodes and webhooks. Tenants choose where such
// calls go, so it keeps them away from what only the gateway can reach: loopback,
// private, link-local, metadata and otherwise special addresses, of IPv4, IPv6 and
// the ways of writing one as the other.
//
// The check is made on each address that is about to be dialled, not on the URL.
// Names that resolve differently the second time, redirects and odd spellings of
// an address are therefore covered without knowing them.
//
// A [Guard] hands out clients of net/http. Their errors are of the type
// *domain.Error, whose message is for the tenant: it names the host as it was
// written and never an address it resolved to. The cause is for the log. Those of
// the kind Forbidden break a rule of this package, and repeating the call does not
// help:
//
//   - url_refused: another scheme than http and https, credentials in the URL, no
//     host or no valid port
//   - address_refused: every address of the host is special and not allowed
//   - port_refused: the port belongs to another protocol
//   - redirect_refused: a redirect from https to http
//   - too_many_redirects
//   - response_too_large: the body is longer than the limit; met while reading it
//   - response_headers_too_large: the headers are longer than 64 KiB
//   - host_not_allowed: a credential may not be sent to the host
//   - tls_required: a credential would be sent in clear, to an address that is not allowed by
//     the operator, or a client certificate without TLS
//   - client_certificate_refused: it cannot be read
//
// Those of the kind Unavailable are about the network, and the call may be repeated:
//
//   - dns_failed, connection_failed, tls_failed, connect_timeout
//   - timeout: the deadline of the request's context has passed
//
// A context that was cancelled gives its own error.
package egress
