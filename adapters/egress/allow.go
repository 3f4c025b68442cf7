package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// mappedBits is the length of the prefix ::ffff:0:0/96, below which IPv6 writes the
// addresses of IPv4.
const mappedBits = 96

// ParseAllow reads the ranges of [Options.Allow]: addresses such as 10.1.2.3 and
// ranges such as 10.0.0.0/8 or fd00::/8. Every mistake is reported at once.
func ParseAllow(texts []string) ([]netip.Prefix, error) {
	var ranges []netip.Prefix
	var mistakes []error
	for _, text := range texts {
		r, err := parseRange(strings.TrimSpace(text))
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		ranges = append(ranges, r)
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return ranges, nil
}

func parseRange(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" {
		return netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
	}
	r, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q, which must be an address or a range, such as 10.1.2.3 or 10.0.0.0/8", text)
	case r != r.Masked():
		return netip.Prefix{}, fmt.Errorf("%q, which must be one address, %s, or the whole range, %s", text, r.Addr(), r.Masked())
	}
	return unmapped(r), nil
}

// unmapped writes a range below ::ffff:0:0/96 as the range of IPv4 that it is.
func unmapped(r netip.Prefix) netip.Prefix {
	if !r.Addr().Is4In6() || r.Bits() < mappedBits {
		return r
	}
	return netip.PrefixFrom(r.Addr().Unmap(), r.Bits()-mappedBits)
}

// split parts the ranges of IPv4 from those of IPv6.
func split(ranges []netip.Prefix) (v4, v6 []netip.Prefix) {
	for _, r := range ranges {
		if r = unmapped(r); r.Addr().Is4() {
			v4 = append(v4, r)
		} else {
			v6 = append(v6, r)
		}
	}
	return v4, v6
}
