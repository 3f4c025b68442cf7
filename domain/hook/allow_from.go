package hook

import (
	"net/netip"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// maxRanges bounds an allow-list.
const maxRanges = 100

// Ranges are the addresses that may send to a hook. The zero value allows every one.
type Ranges struct{ prefixes []netip.Prefix }

// ParseRanges reads addresses and ranges, such as 192.0.2.1 and 2001:db8::/32.
func ParseRanges(r *domain.Rules, path string, texts []string) Ranges {
	r.Check(len(texts) <= maxRanges, path, domain.TooLong, "must hold at most %d ranges, not %d", maxRanges, len(texts))
	var ranges Ranges
	for i, text := range texts {
		prefix, ok := parseRange(text)
		r.Check(ok, domain.Index(path, i), domain.BadFormat, `must be an address or a range without bits behind it, such as "192.0.2.1" or "2001:db8::/32", not %q`, domain.Clip(text, 100))
		if ok {
			ranges.prefixes = append(ranges.prefixes, prefix)
		}
	}
	return ranges
}

func parseRange(text string) (netip.Prefix, bool) {
	if !strings.Contains(text, "/") {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return netip.Prefix{}, false
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix != prefix.Masked() || prefix.Addr().Is4In6() {
		return netip.Prefix{}, false
	}
	return prefix, true
}

// Allows says whether an address may send.
func (a Ranges) Allows(address netip.Addr) bool {
	if len(a.prefixes) == 0 {
		return true
	}
	address = address.Unmap().WithZone("")
	for _, prefix := range a.prefixes {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// Texts are the ranges as they are written.
func (a Ranges) Texts() []string {
	texts := make([]string, len(a.prefixes))
	for i, prefix := range a.prefixes {
		if texts[i] = prefix.String(); prefix.IsSingleIP() {
			texts[i] = prefix.Addr().String()
		}
	}
	return texts
}
