package redis

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"strings"
)

// errAddress does not show the given address: it holds a password, and in what is not a
// URL nobody knows where.
var errAddress = errors.New("the address of Redis must be a URL: redis://user:password@host:6379/0, " +
	"rediss:// for TLS, or unix:///path/of/the/socket?db=0 (special characters in the password as %XX; " +
	"further options are pool_size=1 to 10000 and, with TLS, skip_verify=true)")

// Bounds of an address.
const (
	defaultHost = "localhost"
	defaultPort = "6379" // https://www.iana.org/assignments/uri-schemes/prov/redis
	maxDatabase = 1<<31 - 1
	maxPoolSize = 10_000
)

// endpoint is what an address says.
type endpoint struct {
	network, address string      // for a [net.Dialer]
	tls              *tls.Config // nil: none
	user, password   string      // both empty: the server wants none
	database         int
	poolSize         int // most connections at the same time
}

// CheckAddress says whether [New] takes an address: redis:// or rediss:// with the
// number of the database as the path, or unix://, and with the options
//
//   - db, the number of the database, in place of the path;
//   - pool_size, the most connections at the same time: 10 for each processor by
//     default;
//   - skip_verify=true, with rediss:// only: accept any certificate.
//
// Any other option is an error, as are options without effect. The error does not show
// the address.
func CheckAddress(address string) error {
	_, err := parse(address)
	return err
}

// parse reads an address. Its only error is errAddress.
func parse(address string) (endpoint, error) {
	u, err := url.Parse(address)
	// A fragment means that the password has a # that is not written as %23: its
	// beginning was taken for the host.
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return endpoint{}, errAddress
	}
	e := endpoint{user: u.User.Username(), poolSize: 10 * runtime.GOMAXPROCS(0)}
	e.password, _ = u.User.Password()
	ok := false
	switch u.Scheme {
	case "redis", "rediss":
		ok = e.tcp(u)
	case "unix":
		e.network, e.address = "unix", u.Path
		ok = u.Host == "" && strings.TrimSpace(u.Path) != ""
	}
	if !ok || !e.options(u.RawQuery) {
		return endpoint{}, errAddress
	}
	return e, nil
}

// tcp reads the parts that only an address of a host has.
func (e *endpoint) tcp(u *url.URL) (ok bool) {
	host, port := cmp.Or(u.Hostname(), defaultHost), cmp.Or(u.Port(), defaultPort)
	e.network, e.address = "tcp", net.JoinHostPort(host, port)
	if u.Scheme == "rediss" {
		e.tls = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	}
	if e.database, ok = number(cmp.Or(strings.Trim(u.Path, "/"), "0"), 0, maxDatabase); !ok {
		return false
	}
	_, ok = number(port, 1, 1<<16-1)
	return ok
}

// options reads the query.
func (e *endpoint) options(query string) (ok bool) {
	given, err := url.ParseQuery(query)
	if err != nil {
		return false
	}
	for name, values := range given {
		value := values[len(values)-1]
		switch {
		case name == "db":
			e.database, ok = number(value, 0, maxDatabase)
		case name == "pool_size":
			e.poolSize, ok = number(value, 1, maxPoolSize)
		case name == "skip_verify" && e.tls != nil:
			e.tls.InsecureSkipVerify, err = strconv.ParseBool(value)
			ok = err == nil
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// number reads decimal digits.
func number(text string, least, most int) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && least <= n && n <= most && text[0] != '+'
}
