package egress

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// The defaults of [Options].
const (
	DefaultMaxBody        = 1 << 20
	DefaultConnectTimeout = 10 * time.Second
	DefaultTimeout        = 30 * time.Second
)

// Bounds that hold for every call.
const (
	maxHeader         = 64 << 10      // bytes of an answer's headers
	maxResponseHeader = 4 * maxHeader // that are read, to distinguish too much from a broken connection
	tlsTimeout        = 10 * time.Second
	maxIdle           = 256 // connections that wait for another call
	maxIdlePerHost    = 8
	idleTimeout       = 60 * time.Second
)

// Options say how a [Guard] works. The zero value is what a gateway on the public
// internet wants.
type Options struct {
	// Allow lists the ranges that calls may reach although they are special. Each opens
	// the addresses it names and no others: 127.0.0.0/8 does not open ::1. A range that
	// covers NAT64's well-known prefix opens the translation only: the IPv4 address
	// within must be one that may be called itself.
	Allow []netip.Prefix

	MaxBody        int64          // bytes of an answer's body; zero means 1 MiB
	ConnectTimeout time.Duration  // for the name, the address and the connection; zero means 10 s
	Timeout        time.Duration  // of each hop of a call whose context has no deadline; zero means 30 s
	Resolver       *net.Resolver  // nil means the system's
	RootCAs        *x509.CertPool // nil means the system's
}

// Guard makes calls to the outside and refuses those to the inside. It is safe for
// concurrent use; its clients share one pool of connections.
type Guard struct {
	addresses *ssrf.Guardian
	transport *http.Transport
	plain     *http.Transport // for secrets without TLS: to what is allowed only
	allowed   []netip.Prefix
	maxBody   int64
	timeout   time.Duration
}

// New returns a guard. It opens no connection.
func New(o Options) *Guard {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = DefaultConnectTimeout
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	v4, v6 := split(o.Allow)
	g := &Guard{
		maxBody: o.MaxBody, timeout: o.Timeout, allowed: slices.Concat(v4, v6),
		addresses: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...),
			ssrf.WithDeniedV4Prefixes(azureWireServer)),
	}
	dialer := &net.Dialer{Timeout: o.ConnectTimeout, Resolver: o.Resolver, Control: g.control}
	g.transport = &http.Transport{
		Proxy:                  nil, // a proxy would dial in our place, and unchecked
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:    tlsTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
	}
	inside := *dialer
	inside.Control = g.controlPlain
	g.plain = g.transport.Clone()
	g.plain.DialContext = inside.DialContext
	return g
}

// Close ends the connections that are not in use.
func (g *Guard) Close() {
	g.transport.CloseIdleConnections()
	g.plain.CloseIdleConnections()
}

// azureWireServer gives every virtual machine on Azure its secrets, from an address
// outside the ranges that are set aside for such use.
var azureWireServer = netip.MustParsePrefix("168.63.129.16/32")

// control is asked by the dialer about each address before it connects to it.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusal{code: codeAddress, cause: err}
	}
	// A zone picks a network card and not an address; with one, no range matches.
	if err := g.check(target.Addr().WithZone("").Unmap()); err != nil {
		return &refusal{code: codeAddress, cause: err}
	}
	if slices.Contains(otherProtocols, target.Port()) {
		return &refusal{code: codePort}
	}
	return nil
}

// controlPlain permits only the addresses that the operator has opened: a secret goes over
// TLS everywhere else.
func (g *Guard) controlPlain(network, address string, raw syscall.RawConn) error {
	if err := g.control(network, address, raw); err != nil {
		return err
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusal{code: codeAddress, cause: err}
	}
	ip := target.Addr().WithZone("").Unmap()
	if !slices.ContainsFunc(g.allowed, func(r netip.Prefix) bool { return r.Contains(ip) }) {
		return &refusal{code: codePlain}
	}
	return nil
}

func (g *Guard) check(ip netip.Addr) error {
	if err := g.addresses.SafeAddr(ip); err != nil {
		return err
	}
	if inner, ok := translated(ip); ok {
		return g.addresses.SafeAddr(inner)
	}
	return nil
}

// translated returns the IPv4 address that a NAT64 gateway would send to (RFC 6052,
// §2.2). Such a gateway must not translate to special addresses (§3.1), which is
// not to be relied upon.
func translated(ip netip.Addr) (inner netip.Addr, ok bool) {
	if !ssrf.IPv6NAT64Prefix.Contains(ip) {
		return netip.Addr{}, false
	}
	b := ip.As16()
	return netip.AddrFrom4([4]byte(b[12:])), true
}
