package outbound

import "context"

// Mailer sends messages to people.
type Mailer interface {
	// Enabled says whether there is a server that takes messages. Where there is none, Send always fails, and
	// whoever made a link has to be shown it.
	Enabled() bool

	// Send hands a message to the server, once. An Unavailable with the code mail_unavailable means that the
	// server is out of reach, or does not take messages for now; an Invalid with the code mail_refused, that it
	// does not take this one: its recipient does not exist, say, or is no address. ctx ending is an error that
	// wraps its cause. Where the connection is lost at the end, the message may have been taken although there
	// is an error. No error shows the text of the message, which may hold a secret link, or the server's
	// password.
	Send(ctx context.Context, message Mail) error
}

// Mail is one message, as plain text in the language of its recipient.
type Mail struct {
	To      string // an address, without a name
	Subject string // one line
	Text    string // lines end with \n
}
