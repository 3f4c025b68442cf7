package egress

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"

	"code.dny.dev/ssrf"
	"pgregory.net/rapid"
)

// permits asks what the dialer asks, about a port that any call may go to.
func permits(g *Guard, ip netip.Addr) bool {
	return g.control("tcp", netip.AddrPortFrom(ip, 443).String(), nil) == nil
}

func TestWhatTheInternetIsMadeOfIsPermitted(t *testing.T) {
	g := New(Options{})
	for _, text := range []string{"1.1.1.1", "93.184.215.14", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "168.63.129.17",
		"223.255.255.255", "2606:4700::1111", "2a00:1450:4001:82a::200e", "::ffff:1.1.1.1", "2606:4700::1111%eth0"} {
		if !permits(g, netip.MustParseAddr(text)) {
			t.Errorf("%s is refused", text)
		}
	}
}

func TestAnAllowListOpensWhatItNamesAndNothingMore(t *testing.T) {
	for claim, c := range map[string]struct {
		allow, opens, refuses []string
	}{
		"one address of loopback": {
			[]string{"127.0.0.1"},
			[]string{"127.0.0.1", "::ffff:127.0.0.1"},
			[]string{"127.0.0.2", "::1", "10.0.0.1", "0.0.0.0", "64:ff9b::127.0.0.1", "2002:7f00:1::"},
		},
		"a range of IPv4 opens none of IPv6": {
			[]string{"127.0.0.0/8", "10.0.0.0/8"},
			[]string{"127.0.0.1", "127.255.255.255", "10.0.0.0", "10.255.255.255"},
			[]string{"::1", "::", "172.16.0.1", "fd00::1", "169.254.169.254", "64:ff9b::10.0.0.1", "::10.0.0.1"},
		},
		"a range of IPv6 opens none of IPv4": {
			[]string{"::1", "fd00:1::/32"},
			[]string{"::1", "::1%lo", "fd00:1::", "fd00:1:ffff:ffff:ffff:ffff:ffff:ffff"},
			[]string{"127.0.0.1", "::", "::2", "fd00:2::", "fd00:ec2::254", "::ffff:127.0.0.1"},
		},
		"all of IPv6 opens none of IPv4": {
			[]string{"::/0"},
			[]string{"::1", "fe80::1%eth0", "ff02::1", "64:ff9b::1.1.1.1"},
			[]string{"127.0.0.1", "::ffff:127.0.0.1", "10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254"},
		},
		"NAT64 opens the translation of public addresses": {
			[]string{"64:ff9b::/96"},
			[]string{"64:ff9b::1.1.1.1"},
			[]string{"64:ff9b::10.0.0.1", "64:ff9b::168.63.129.16", "64:ff9b:1::1.1.1.1", "10.0.0.1"},
		},
		"NAT64 with a private range": {
			[]string{"64:ff9b::/96", "10.0.0.0/8"},
			[]string{"64:ff9b::10.0.0.1", "10.0.0.1"},
			[]string{"64:ff9b::127.0.0.1"},
		},
		"IPv4 written as IPv6": {
			[]string{"::ffff:10.0.0.0/104"},
			[]string{"10.0.0.1", "::ffff:10.0.0.1"},
			[]string{"127.0.0.1", "::10.0.0.1"},
		},
		"an address that is refused by name": {
			[]string{"168.63.129.16"}, []string{"168.63.129.16"}, []string{"169.254.169.254"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			ranges, err := ParseAllow(c.allow)
			if err != nil {
				t.Fatal(err)
			}
			g := New(Options{Allow: ranges})
			for _, text := range c.opens {
				if !permits(g, netip.MustParseAddr(text)) {
					t.Errorf("%s is refused", text)
				}
			}
			for _, text := range c.refuses {
				if permits(g, netip.MustParseAddr(text)) {
					t.Errorf("%s is open", text)
				}
			}
		})
	}
}

func TestAnAllowedRangeChangesNothingOutsideIt(t *testing.T) {
	closed := New(Options{})
	rapid.Check(t, func(rt *rapid.T) {
		allowed, ip := drawAddr(rt, "allowed"), drawAddr(rt, "called")
		r, err := allowed.Prefix(rapid.IntRange(0, allowed.BitLen()).Draw(rt, "bits"))
		if err != nil {
			rt.Fatal(err)
		}
		if rapid.Bool().Draw(rt, "near") && r.Addr().Is4() == ip.Is4() { // else they hardly ever meet
			ip = r.Addr()
		}
		if ssrf.IPv6NAT64Prefix.Contains(ip) {
			return // judged by the address within
		}
		want := permits(closed, ip) || r.Contains(ip)
		if got := permits(New(Options{Allow: []netip.Prefix{r}}), ip); got != want {
			rt.Fatalf("with %s, %s is permitted: %v", r, ip, got)
		}
	})
}

func drawAddr(rt *rapid.T, label string) netip.Addr {
	if rapid.Bool().Draw(rt, label+" is IPv4") {
		return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(rt, label)))
	}
	return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, label))).Unmap()
}

func TestPortsOfOtherProtocolsAreRefused(t *testing.T) {
	if !slices.IsSorted(otherProtocols) {
		t.Error("the list is not in order")
	}
	g := New(Options{})
	for port, want := range map[uint16]bool{80: true, 443: true, 3000: true, 8080: true, 8443: true, 65535: true, 22: false, 25: false, 0: false, 6379: true} {
		if got := g.control("tcp4", netip.AddrPortFrom(netip.MustParseAddr("1.1.1.1"), port).String(), nil) == nil; got != want {
			t.Errorf("port %d is open: %v", port, got)
		}
	}
}

func FuzzControl(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:80", "[::ffff:127.0.0.1]:80", "[fe80::1%eth0]:443", "1.1.1.1:443", "[64:ff9b::7f00:1]:80", "localhost:80", "/run/x.sock", "[2001::1]:1"} {
		f.Add(seed)
	}
	g := New(Options{})
	f.Fuzz(func(t *testing.T, address string) {
		if g.control("tcp", address, nil) != nil {
			return
		}
		// net has a notion of its own of what is public; it must not be narrower.
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			t.Fatalf("%q is permitted and no address", address)
		}
		ip := net.IP(target.Addr().WithZone("").AsSlice())
		if ip.IsPrivate() || ip.IsLoopback() || ip.IsMulticast() || ip.IsUnspecified() || !ip.IsGlobalUnicast() || ip.IsLinkLocalUnicast() {
			t.Errorf("%s is permitted", target)
		}
	})
}

func TestASecretGoesInClearToWhatTheOperatorAllowsOnly(t *testing.T) {
	g := New(Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	for address, want := range map[string]string{
		"10.1.2.3:80": "", "[::ffff:10.1.2.3]:80": "", "93.184.215.14:80": codePlain, "[2606:4700::1111]:443": codePlain,
		"10.2.0.1:80": codeAddress, "127.0.0.1:80": codeAddress, "10.1.2.3:25": codePort, "nonsense": codeAddress,
	} {
		got := ""
		var refused *refusal
		if err := g.controlPlain("tcp", address, nil); errors.As(err, &refused) {
			got = refused.code
		} else if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, not %q", address, got, want)
		}
	}
}
