package console

import (
	"github.com/gin-gonic/gin"
	html "maragu.dev/gomponents"
	tag "maragu.dev/gomponents/html"

	"github.com/sluicehq/sluice/adapters/httpapi/htmlpage"
	"github.com/sluicehq/sluice/ports/inbound"
)

// view is what a page shows.
type view struct {
	heading string
	content []html.Node
}

func writePage(c *gin.Context, status int, w *words, v view) error {
	c.Header("Vary", "Accept-Language")
	return htmlpage.Write(c, status, string(w.Language), v.heading, append([]html.Node{tag.H1(html.Text(v.heading))}, v.content...)...)
}

// quiet is a line of text that nobody has to read.
func quiet(text string) html.Node { return tag.P(tag.Class("quiet"), html.Text(text)) }

// alert says what is wrong; nothing where it is empty.
func alert(text string) html.Node {
	return html.If(text != "", tag.Div(tag.Class("error"), tag.Role("alert"), tag.P(html.Text(text))))
}

func problemView(w *words, at func(string) string, text string) view {
	return view{w.NotHere, []html.Node{tag.P(tag.Role("status"), html.Text(text)), tag.P(tag.A(htmlpage.Leads(at(Prefix)), html.Text(w.ToSignIn)))}}
}

func field(id, label, kind, value, complete string) html.Node {
	return tag.Div(tag.Class("field"), tag.Label(tag.For(id), html.Text(label)),
		tag.Input(tag.ID(id), tag.Name(id), tag.Type(kind), tag.Value(value), tag.AutoComplete(complete), tag.Required()))
}

func signInView(w *words, at func(string) string, elsewhere, mail bool, email, problem string) view {
	return view{w.SignIn, []html.Node{
		alert(problem),
		tag.Form(tag.Method("post"), tag.Action(at(signInPath)),
			field("email", w.Email, "email", email, "username"), field("password", w.Password, "password", "", "current-password"),
			tag.Button(html.Text(w.SignIn))),
		html.If(mail, tag.P(tag.A(htmlpage.Leads(at(forgotPath)), html.Text(w.Forgotten)))),
		html.If(elsewhere, tag.P(tag.A(htmlpage.Leads(at(oidcStart)), html.Text(w.Elsewhere)))),
	}}
}

func forgottenView(w *words, at func(string) string) view {
	return view{w.Forgotten, []html.Node{
		quiet(w.ForgottenHelp),
		tag.Form(tag.Method("post"), tag.Action(at(forgotPath)), field("email", w.Email, "email", "", "username"), tag.Button(html.Text(w.SendLink))),
		tag.P(tag.A(htmlpage.Leads(at(Prefix)), html.Text(w.ToSignIn))),
	}}
}

// askedView says the same whether or not somebody has the address.
func askedView(w *words, at func(string) string) view {
	return view{w.Forgotten, []html.Node{tag.P(tag.Role("status"), html.Text(w.LinkSent)), tag.P(tag.A(htmlpage.Leads(at(Prefix)), html.Text(w.ToSignIn)))}}
}

func linkView(w *words, open inbound.OpenLink, problem string) view {
	email := string(open.User.Email())
	if !open.SetsPassword {
		return view{w.SignIn, []html.Node{quiet(w.As + " " + email), tag.Form(tag.Method("post"), tag.Button(html.Text(w.SignIn)))}}
	}
	return view{w.ChoosePassword, []html.Node{
		quiet(w.As + " " + email), alert(problem),
		tag.Form(tag.Method("post"),
			tag.Input(tag.Type("hidden"), tag.Name("email"), tag.Value(email), tag.AutoComplete("username")), // for what keeps passwords
			tag.Div(tag.Class("field"), tag.Label(tag.For("password"), html.Text(w.Password)), tag.P(tag.Class("help"), tag.ID("password-help"), html.Text(w.PasswordHelp)),
				tag.Input(tag.ID("password"), tag.Name("password"), tag.Type("password"), tag.AutoComplete("new-password"), tag.Required(),
					tag.Aria("describedby", "password-help"), html.If(problem != "", tag.Aria("invalid", "true")))),
			tag.Button(html.Text(w.SaveAndSignIn))),
	}}
}

func accountView(w *words, at func(string) string, who inbound.Account) view {
	name := string(who.User.Email())
	if who.User.Name() != "" {
		name = who.User.Name() + ", " + name
	}
	var rows []html.Node
	for _, m := range who.Memberships {
		rows = append(rows, tag.Li(html.Text(m.TenantName+" · "+w.Roles[m.Membership.Role()])))
	}
	content := []html.Node{quiet(name)}
	switch {
	case len(rows) > 0:
		content = append(content, tag.P(html.Text(w.Tenants)), tag.Ul(rows...))
	case !who.User.IsOperator():
		content = append(content, tag.P(html.Text(w.NoTenant)))
	}
	if who.User.IsOperator() {
		content = append(content, tag.P(html.Text(w.Operator)))
	}
	return view{w.SignedIn, append(content, tag.Form(tag.Method("post"), tag.Action(at(signOutPath)), tag.Button(html.Text(w.SignOut))))}
}
