package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// guard decides which addresses a function connects to. Those that are not public are
// refused, so that a Spicepod, or who controls a name that it trusts, cannot reach services
// inside: a function allows them by its params. A name is resolved once for each connection,
// which goes to the address that was checked.
type guard struct {
	ranges  []netip.Prefix
	private bool
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
}

// guard returns the one of the settings, which resolves names with lookup; nil: as the system
// does.
func (s settings) guard(lookup func(ctx context.Context, host string) ([]netip.Addr, error)) guard {
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return guard{ranges: s.ranges, private: s.private, lookup: lookup}
}

// AddressError is a connection that is refused.
type AddressError struct{ message string }

// Error says what is refused, and how it is allowed.
func (e *AddressError) Error() string { return e.message }

// mustPrefixes parses networks.
func mustPrefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

// kinds are the networks that are not public (IANA's registries of special addresses), by
// what they are; the first that matches counts.
var kinds = []struct {
	name     string
	networks []netip.Prefix
}{
	{"a metadata service", metadata},
	{"loopback", mustPrefixes("127.0.0.0/8", "::1/128")},
	{"unspecified", mustPrefixes("0.0.0.0/8", "::/128")},
	{"link-local", mustPrefixes("169.254.0.0/16", "fe80::/10", "fec0::/10")},
	{"private", private},
	{"of a carrier's network", mustPrefixes("100.64.0.0/10")},
	{"multicast", mustPrefixes("224.0.0.0/4", "ff00::/8")},
	{"reserved", mustPrefixes(
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "3fff::/20")},
}

var private = mustPrefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")

// metadata are the addresses at which clouds give credentials to their machines. A network
// that contains one does not allow it: it must be listed itself.
var metadata = mustPrefixes("169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32",
	"168.63.129.16/32", "192.0.0.192/32",
	"fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128")

// unicast are the IPv6 addresses that may be public.
var unicast = netip.MustParsePrefix("2000::/3")

// kindOf says why an address is not public, or "".
func kindOf(a netip.Addr) string {
	for _, k := range kinds {
		if within(k.networks, a) {
			return k.name
		}
	}
	if a.Is6() && !unicast.Contains(a) {
		return "reserved"
	}
	return ""
}

func within(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Networks whose addresses contain one of IPv4.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	compatible = netip.MustParsePrefix("::/96")
)

// embedded returns the IPv4 address in one of IPv6, through which a gateway reaches it.
func embedded(a netip.Addr) (netip.Addr, bool) {
	raw := a.As16()
	switch {
	case !a.Is6():
		return a, false
	case nat64.Contains(a), compatible.Contains(a) && a != netip.IPv6Unspecified() && a != netip.IPv6Loopback():
		return netip.AddrFrom4([4]byte(raw[12:])), true
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(raw[2:6])), true
	}
	return a, false
}

// refusal says why an address is refused, or "".
func (g guard) refusal(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	kind := kindOf(a)
	if inner, ok := embedded(a); ok {
		if kind = kindOf(inner); kind != "" {
			kind += " as " + inner.String()
		}
		a = inner
	}
	switch {
	case kind == "", slices.Contains(g.ranges, netip.PrefixFrom(a, a.BitLen())):
		return ""
	case within(metadata, a):
		return kind
	case within(g.ranges, a), g.private && within(private, a):
		return ""
	}
	return kind
}

const dialTimeout = 10 * time.Second // of each address

// dial is for [http.Transport].
func (g guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, a)
	} else if addrs, err = g.lookup(ctx, host); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var refused []string
	var failed error
	dialer := net.Dialer{Timeout: dialTimeout}
	for _, a := range addrs {
		if why := g.refusal(a); why != "" {
			refused = append(refused, fmt.Sprintf("%s is %s", a.Unmap(), why))
			continue
		}
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	switch {
	case failed != nil:
		return nil, failed
	case len(refused) == 0:
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the host has no address")}
	}
	return nil, refuse(host, refused)
}

// literal returns why the host of a URL is an address that no call may connect to; nil for
// names, whose addresses are known when a call resolves them. A call would learn it after
// somebody had approved it.
func (g guard) literal(u *url.URL) error {
	if u == nil {
		return nil
	}
	a, err := netip.ParseAddr(u.Hostname())
	if err != nil || g.refusal(a) == "" {
		return nil
	}
	return refuse(u.Hostname(), []string{fmt.Sprintf("%s is %s", a.Unmap(), g.refusal(a))})
}

// refuse is the error of a host whose addresses are all refused.
func refuse(host string, refused []string) error {
	const shown = 3
	more := ""
	if len(refused) > shown {
		more, refused = fmt.Sprintf(", and %d more", len(refused)-shown), refused[:shown]
	}
	return &AddressError{fmt.Sprintf("host %q is not at a public address: %s%s. To allow it, list its network "+
		"in params.allowed_endpoint_ranges; "+
		"params.allow_private: true allows private networks; a metadata service must be listed by its address",
		host, strings.Join(refused, ", "), more)}
}
