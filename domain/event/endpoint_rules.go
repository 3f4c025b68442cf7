package event

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// check reports every broken rule, after what was found while the request was read.
func (s EndpointState) check(r *domain.Rules) error {
	checkURL(r, s.URL)
	if s.Description != nil {
		r.Text(*s.Description, "description", 0, MaxDescription)
	}
	for i, t := range s.Events {
		path := domain.Index("events", i)
		if r.Broken("events") || r.Broken(path) {
			continue // it is no type at all
		}
		r.Check(t.Subscribable(), path, domain.NotAllowed, "must be %s, not %q", domain.OneOf(Types()...), string(t))
		r.Check(slices.Index(s.Events, t) == i, path, domain.Duplicate, "names %q a second time", string(t))
	}
	if s.SubTenant != "" {
		s.SubTenant.Check(r, "subTenantId")
	}
	return r.Err(endpointInvalid, endpointInvalidMessage)
}

// checkURL accepts absolute http and https URLs. Credentials in one would be sent in
// clear to whoever reads the endpoint, and a fragment is never sent at all. Where the
// host may be is checked when it is called, not here: names change what they resolve to.
func checkURL(r *domain.Rules, text string) {
	const field = "url"
	if r.Broken("") || r.Broken(field) {
		return
	}
	r.Text(text, field, 1, MaxURL)
	u, err := url.Parse(text)
	if err != nil { // its text repeats the URL, which may hold a secret
		r.Check(false, field, domain.BadFormat, "must be a URL, such as https://example.com/webhooks")
		return
	}
	r.Check((u.Scheme == "https" || u.Scheme == "http") && u.Opaque == "", field, domain.BadFormat, "must begin with https:// or http://")
	r.Check(u.Hostname() != "", field, domain.BadFormat, "must name a host, such as https://example.com/webhooks")
	r.Check(u.User == nil, field, domain.NotAllowed, "must not hold a user name or a password")
	r.Check(!strings.Contains(text, "#"), field, domain.NotAllowed, "must not hold a fragment (#), which is never sent")
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		r.Check(err == nil && n > 0, field, domain.BadFormat, "must have a port from 1 to 65535, or none")
	}
}
