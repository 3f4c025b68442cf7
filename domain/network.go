package domain

import "net/netip"

// NetworkOf names the network that somebody with an address has at least: with one of IPv6 all of its 2^64. Requests are
// counted by it.
func NetworkOf(address netip.Addr) string {
	address = address.Unmap().WithZone("")
	if network, err := address.Prefix(64); err == nil && address.Is6() {
		address = network.Addr()
	}
	return address.String()
}
