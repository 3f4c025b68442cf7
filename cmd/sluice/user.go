package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

func (p *program) userCommand() *cobra.Command {
	return group("user", "Create and manage who signs in to the console",
		p.userCreate(),
		p.userLink("invite", "Make another invitation for a user who has not come in yet", func(op operatorPorts) linkVerb { return op.Users.Invite }),
		p.userLink("reset", "Make a link by which a user chooses another password", func(op operatorPorts) linkVerb { return op.Users.Reset }),
		p.userList(),
		p.userStatus("disable", "Keep a user out, and end every session and link", func(op operatorPorts) userVerb { return op.Users.Disable }),
		p.userStatus("enable", "Let a disabled user in again", func(op operatorPorts) userVerb { return op.Users.Enable }))
}

// createdLink is what a command that makes a link for a user prints with --json.
type createdLink struct {
	UserID tenant.UserID `json:"userId"`
	Email  member.Email  `json:"email"`
	Link   string        `json:"link,omitempty"`
	Mailed bool          `json:"mailed"`
}

func (p *program) userCreate() *cobra.Command {
	language := tenant.English
	d := member.UserDraft{Language: &language}
	cmd := &cobra.Command{
		Use: "create --email EMAIL", Short: "Create a user, and print the link by which the person comes in", Args: exactly(),
		Long: "Creates a user, and prints the link by which the person comes in: once, within 72 hours. Where SLUICE_SMTP_URL\n" +
			"is set the gateway mails one as well.\n\n" +
			"A user sees the tenants that he or she is a member of: sluice member add.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
				made, err := op.Users.Create(ctx, d)
				if err != nil {
					return err
				}
				return p.printLink(made, "comes in")
			})
		},
	}
	cmd.Flags().StringVar(&d.Email, "email", "", "mail address that the person signs in with")
	cmd.Flags().StringVar(&d.Name, "name", "", "name of the person")
	cmd.Flags().StringVar((*string)(&language), "language", string(tenant.English), "language of mails to the person: en, pt-BR or es")
	cmd.Flags().BoolVar(&d.IsOperator, "operator", false, "the person is one of the operator's own people")
	return cmd
}

// linkVerb makes a link for who has a mail address.
type linkVerb func(context.Context, string) (inbound.UserWithLink, error)

func (p *program) userLink(name, short string, verb func(operatorPorts) linkVerb) *cobra.Command {
	return &cobra.Command{
		Use: name + " EMAIL", Short: short, Args: exactly("the mail address of a user"),
		Long: short + ", and print it. It is used once, within 72 hours; where SLUICE_SMTP_URL is set the gateway mails one as well.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
				made, err := verb(op)(ctx, args[0])
				if err != nil {
					return p.withHint(err, args[0])
				}
				return p.printLink(made, "chooses a password")
			})
		},
	}
}

// withHint says what to do about what is wrong with a user.
func (p *program) withHint(err error, address string) error {
	var known *domain.Error
	if !errors.As(err, &known) {
		return err
	}
	hint := map[string]string{
		"user_not_found": " To make one: sluice user create --email " + address, "user_disabled": " To let the person in again: sluice user enable " + address,
		"user_has_entered": " For another password: sluice user reset " + address,
	}[known.Code]
	return fmt.Errorf("%s%s", explain(err), hint)
}

func (p *program) printLink(made inbound.UserWithLink, does string) error {
	out := createdLink{UserID: made.User.ID(), Email: made.User.Email(), Link: made.Link, Mailed: made.Mailed}
	if p.json {
		return p.printJSON(out)
	}
	return p.printf("User %s (%s)\n\nThe person %s by this link, once, within 72 hours%s:\n\n  %s\n\nWhoever has it can use it. It is not shown again.\n", out.UserID, out.Email, does, mailed(out.Mailed), out.Link)
}

func mailed(queued bool) string {
	if queued {
		return " (another one is mailed by the gateway)"
	}
	return ""
}

// shownUser is how a user is printed as JSON.
type shownUser struct {
	UserID     tenant.UserID   `json:"userId"`
	Email      member.Email    `json:"email"`
	Name       string          `json:"name"`
	Language   tenant.Language `json:"language"`
	IsOperator bool            `json:"isOperator"`
	HasEntered bool            `json:"hasEntered"`
	CreatedAt  instant         `json:"createdAt"`
	DisabledAt *instant        `json:"disabledAt,omitempty"`
}

func showUser(u *member.User) shownUser {
	return shownUser{
		UserID: u.ID(), Email: u.Email(), Name: u.Name(), Language: u.Language(), IsOperator: u.IsOperator(), HasEntered: u.HasEntered(),
		CreatedAt: instant(u.CreatedAt()), DisabledAt: (*instant)(u.DisabledAt()),
	}
}

// state says in a word whether the user can come in.
func (s shownUser) state() string {
	switch {
	case s.DisabledAt != nil:
		return "disabled"
	case s.HasEntered:
		return "active"
	default:
		return "invited"
	}
}

func (p *program) userList() *cobra.Command {
	var limit, offset int
	cmd := &cobra.Command{
		Use: "list", Short: "List users, the newest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := domain.NewPageRequest(limit, offset)
			if err != nil {
				return fmt.Errorf("%w: %s", errUsage, explain(err))
			}
			return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
				found, err := op.Users.List(ctx, page)
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(pageOf(found, showUser))
				}
				rows := [][]string{{"USER", "EMAIL", "NAME", "STATE", "OPERATOR", "CREATED"}}
				for _, u := range found.Items {
					s := showUser(u)
					rows = append(rows, []string{string(s.UserID), string(s.Email), s.Name, s.state(), yes(s.IsOperator), shown(&s.CreatedAt)})
				}
				if err := p.printTable(rows); err != nil {
					return err
				}
				return p.printf("\n%d of %d users\n", len(found.Items), found.Total)
			})
		},
	}
	pageFlags(cmd, &limit, &offset)
	return cmd
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "-"
}

// userVerb does something to who has a mail address.
type userVerb func(context.Context, string) (*member.User, error)

func (p *program) userStatus(name, short string, verb func(operatorPorts) userVerb) *cobra.Command {
	return &cobra.Command{
		Use: name + " EMAIL", Short: short, Args: exactly("the mail address of a user"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
				u, err := verb(op)(ctx, args[0])
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(showUser(u))
				}
				return p.printf("%sd %s\n", name, u.Email())
			})
		},
	}
}
