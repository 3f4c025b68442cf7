package connection

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a host.
const (
	maxHostName  = 253 // characters (RFC 1035, §3.1)
	maxHostLabel = 63
	defaultPort  = 443
	plainPort    = 80
)

// ToASCII writes an internationalized name as it is looked up (UTS 46, for lookup). It is
// asked about names with characters beyond ASCII only.
type ToASCII func(name string) (string, error)

// HostPattern names the hosts that a credential may be sent to: one name or address, or
// the names one label below a name, with one port. Patterns can be compared. Its text is
// in lower case, in ASCII, without a trailing dot, and without the port where that is 443.
type HostPattern struct {
	name     string // without the wildcard; empty for an address
	addr     netip.Addr
	wildcard bool
	port     uint16
}

// ParseHostPattern reads example.com, *.example.com, 192.0.2.1, [2001:db8::1] and the same
// with :port. Its errors say what would be right, and are for the client.
func ParseHostPattern(text string, ascii ToASCII) (HostPattern, error) {
	p := HostPattern{port: defaultPort}
	if strings.ContainsAny(text, "/?#@\\ \t\r\n") {
		return p, errors.New("must be a host alone, such as api.example.com or api.example.com:8443, without a scheme, a path or credentials")
	}
	name, port, err := splitPort(text)
	if err != nil {
		return p, err
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || !isDigits(port) {
			return p, errors.New("must have a port from 1 to 65535, or none for 443")
		}
		p.port = uint16(n)
	}
	name, p.wildcard = strings.CutPrefix(name, "*.")
	if strings.Contains(name, "*") {
		return p, errors.New("may have one *, as the first label: *.example.com")
	}
	if p.name, p.addr, err = canonicalHost(name, ascii); err != nil {
		return p, err
	}
	switch {
	case p.wildcard && p.addr.IsValid():
		return p, errors.New("may have no * with an address")
	case p.wildcard && !strings.Contains(p.name, "."):
		return p, errors.New("must have two labels or more behind the *, such as *.example.com")
	}
	return p, nil
}

// splitPort parts a host from what stands behind its last colon. The brackets of an
// address are left off.
func splitPort(text string) (host, port string, err error) {
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed {
		host, rest, closed := strings.Cut(inner, "]")
		port, hasPort := strings.CutPrefix(rest, ":")
		if !closed || !strings.Contains(host, ":") || rest != "" && (!hasPort || port == "") {
			return "", "", errors.New("must have an address of IPv6 between the brackets, and nothing but a port behind them: [2001:db8::1]:8443")
		}
		return host, port, nil
	}
	if strings.Count(text, ":") > 1 { // an address of IPv6 has a port only behind brackets
		return text, "", nil
	}
	host, port, found := strings.Cut(text, ":")
	if found && port == "" {
		return "", "", errors.New("must have a port behind the colon, or no colon")
	}
	return host, port, nil
}

// canonicalHost reads a name or an address as it is compared.
func canonicalHost(host string, ascii ToASCII) (name string, addr netip.Addr, err error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", netip.Addr{}, errors.New("must be an address without a zone")
		}
		return "", addr.Unmap(), nil
	}
	name = host
	if !isASCII(name) {
		if name, err = ascii(name); err != nil || !isASCII(name) {
			return "", netip.Addr{}, errors.New("must be a name that can be looked up, such as bücher.example")
		}
	}
	if addr, err := netip.ParseAddr(name); err == nil { // it was written in full-width digits
		return "", addr, nil
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if !isHostName(name) {
		return "", netip.Addr{}, errors.New("must be a host name or an address, such as api.example.com or 192.0.2.1")
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; isDigits(last) || strings.HasPrefix(last, "0x") {
		return "", netip.Addr{}, errors.New("must write an address of IPv4 as four numbers, such as 192.0.2.1")
	}
	return name, netip.Addr{}, nil
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 })
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// isHostName says whether a text in lower case is labels of letters, digits, hyphens and
// underscores, which some names have.
func isHostName(name string) bool {
	if len(name) > maxHostName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxHostLabel || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// String writes the pattern: with brackets around an address of IPv6, and without the port
// 443.
func (p HostPattern) String() string {
	text := p.name
	if p.addr.IsValid() {
		if text = p.addr.String(); p.addr.Is6() {
			text = "[" + text + "]"
		}
	}
	if p.wildcard {
		text = "*." + text
	}
	if p.port != defaultPort {
		text += ":" + strconv.Itoa(int(p.port))
	}
	return text
}

// Target is a host and a port that a call goes to, as they are compared.
type Target struct {
	name string // empty for an address
	addr netip.Addr
	port uint16
}

// TargetOf reads where a URL leads. ok is false for what no pattern covers: a URL with
// credentials, of another scheme than http and https, or whose host is no name or address
// that can be compared.
func TargetOf(u *url.URL, ascii ToASCII) (t Target, ok bool) {
	switch {
	case u.User != nil || u.Opaque != "":
		return t, false
	case u.Scheme == "https":
		t.port = defaultPort
	case u.Scheme == "http":
		t.port = plainPort
	default:
		return t, false
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return t, false
		}
		t.port = uint16(n)
	}
	var err error
	t.name, t.addr, err = canonicalHost(u.Hostname(), ascii)
	return t, err == nil
}

// Covers says whether the target is one that the pattern names.
func (p HostPattern) Covers(t Target) bool {
	if p.port != t.port || p.port == 0 {
		return false
	}
	if !p.wildcard {
		return p.name == t.name && p.addr == t.addr
	}
	label, rest, found := strings.Cut(t.name, ".")
	return found && label != "" && rest == p.name
}

// Hosts are the hosts that a credential may be sent to; none of them, when it is empty.
type Hosts []HostPattern

// Cover says whether one of the patterns covers the target.
func (h Hosts) Cover(t Target) bool {
	return slices.ContainsFunc(h, func(p HostPattern) bool { return p.Covers(t) })
}

// Texts are the patterns as they are shown and kept.
func (h Hosts) Texts() []string {
	texts := make([]string, len(h))
	for i, p := range h {
		texts[i] = p.String()
	}
	return texts
}

// sameAs says whether both name the same hosts, in any order.
func (h Hosts) sameAs(other Hosts) bool {
	return len(h) == len(other) && !slices.ContainsFunc(h, func(p HostPattern) bool { return !slices.Contains(other, p) })
}

// RestoreHosts reads what [Hosts.Texts] gave.
func RestoreHosts(texts []string) (Hosts, error) {
	hosts := make(Hosts, len(texts))
	for i, text := range texts {
		p, err := ParseHostPattern(text, func(string) (string, error) { return "", errors.New("it is not ASCII") })
		if err != nil {
			return nil, err
		}
		hosts[i] = p
	}
	return hosts, nil
}
