package main

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/sluicehq/sluice/adapters/httpapi/console"
	"github.com/sluicehq/sluice/adapters/mail"
	"github.com/sluicehq/sluice/adapters/oidc"
	"github.com/sluicehq/sluice/application/members"
)

// checkPeople checks the settings by which people come in.
func (c config) checkPeople(check func(ok bool, name, message string)) {
	if c.SMTPURL != "" {
		_, err := mail.ParseAddress(c.SMTPURL)
		check(err == nil, "SMTP_URL", mail.ErrMalformedAddress.Error())
	}
	check(c.OIDCIssuer == "" || isIssuer(c.OIDCIssuer), "OIDC_ISSUER", "must be an https:// address without a query, as the provider names itself; http:// is for this machine only")
	check(c.OIDCIssuer == "" || c.OIDCClient != "", "OIDC_CLIENT_ID", "must be set, since SLUICE_OIDC_ISSUER is")
	for name, value := range map[string]string{"OIDC_CLIENT_ID": c.OIDCClient, "OIDC_CLIENT_SECRET": c.OIDCSecret, "OIDC_ALLOWED_DOMAINS": strings.Join(c.OIDCDomains, ",")} {
		check(value == "" || c.OIDCIssuer != "", name, "is set, and SLUICE_OIDC_ISSUER is not")
	}
	for _, domain := range c.OIDCDomains {
		u := url.URL{Host: domain}
		check(domain != "" && u.Hostname() == domain && !strings.ContainsAny(domain, "@*/ "), "OIDC_ALLOWED_DOMAINS", fmt.Sprintf("holds %q; a domain reads example.com", domain))
	}
}

// isIssuer says whether a text can be the name of a provider: secrets go there in TLS, or never leave this machine.
func isIssuer(text string) bool {
	u, err := url.Parse(text)
	if err != nil || !isHTTP(text) || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
}

// identityProvider is with whom people sign in; public is where they reach the gateway.
func (c config) identityProvider(public func() string) *oidc.Provider {
	if c.OIDCIssuer == "" {
		return new(oidc.Provider)
	}
	return oidc.New(oidc.Settings{
		Issuer: c.OIDCIssuer, ClientID: c.OIDCClient, ClientSecret: c.OIDCSecret, Domains: c.OIDCDomains,
		RedirectURL: func() string { return public() + console.OIDCCallback },
	})
}

// letters bring links to people; public is where people reach the gateway.
func (c config) letters(public string) members.Letters {
	return members.Letters{Mailer: c.mailer(), Public: func() string { return public }}
}

// shownLetters mail nothing, for links that are shown; baseURL is where clients reach the gateway.
func (c config) shownLetters(baseURL string) members.Letters {
	return members.Letters{Mailer: new(mail.Mailer), Public: func() string { return cmp.Or(c.PublicURL, baseURL) }}
}

// mailer sends messages by the configured server; without one, none.
func (c config) mailer() *mail.Mailer {
	address, err := mail.ParseAddress(c.SMTPURL)
	if err != nil { // checked when the configuration was read, so that there is none
		return new(mail.Mailer)
	}
	return mail.New(address)
}

// publicURL is where people reach a gateway with this configuration, which does not run in this process.
func (c config) publicURL() string {
	return cmp.Or(c.PublicURL, c.BaseURL, "http://"+reachable(c.Listen))
}
