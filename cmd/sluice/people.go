package main

import (
	"cmp"

	"github.com/sluicehq/sluice/adapters/mail"
	"github.com/sluicehq/sluice/application/members"
)

// letters bring links to people; public is where people reach the gateway.
func (c config) letters(public string) members.Letters {
	return members.Letters{Mailer: c.mailer(), Public: func() string { return public }}
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
