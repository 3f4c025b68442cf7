package mail

import (
	"errors"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
)

// Address says by which server messages are sent, and from whom. It holds a password.
type Address struct {
	host      string
	port      int
	wrapped   bool // in TLS from the beginning, as smtps:// says
	plaintext bool // without TLS
	local     bool // the server is on this machine, and need not have TLS
	username  string
	password  string
	from      mail.Address
}

// ErrMalformedAddress is what is wrong with an address; it never repeats it.
var ErrMalformedAddress = errors.New("must be smtp://user:password@host:587?from=sluice@example.com, or smtps://… with TLS from the beginning; behind the ? nothing else than from and tls=none")

// ParseAddress reads an address. Without from, it is the user who sends.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.Path != "" && u.Path != "/" || u.Fragment != "" || !slices.Contains([]string{"smtp", "smtps"}, u.Scheme) {
		return Address{}, ErrMalformedAddress // the parser's error would show the password
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, ErrMalformedAddress
	}
	a := Address{host: u.Hostname(), port: 587, wrapped: u.Scheme == "smtps", local: isLocal(u.Hostname())}
	a.username = u.User.Username()
	a.password, _ = u.User.Password()
	if a.wrapped {
		a.port = 465
	}
	if given := u.Port(); given != "" {
		port, err := strconv.ParseUint(given, 10, 16)
		if err != nil || port == 0 {
			return Address{}, ErrMalformedAddress
		}
		a.port = int(port)
	}
	sender := a.username
	for name, values := range query {
		switch {
		case name == "from" && len(values) == 1:
			sender = values[0]
		case name == "tls" && len(values) == 1 && values[0] == "none" && !a.wrapped:
			a.plaintext = true
		default:
			return Address{}, ErrMalformedAddress
		}
	}
	from, err := mail.ParseAddress(sender)
	if err != nil {
		return Address{}, ErrMalformedAddress
	}
	a.from = *from
	return a, nil
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// String hides the password.
func (a Address) String() string { return a.host }

// GoString hides it as well.
func (a Address) GoString() string { return a.String() }
