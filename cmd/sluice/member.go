package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

func (p *program) memberCommand() *cobra.Command {
	var owner string
	cmd := group("member", "Decide who works on a tenant in the console", p.memberAdd(&owner), p.memberRemove(&owner), p.memberList(&owner))
	cmd.PersistentFlags().StringVar(&owner, "tenant", "", "id of the tenant (required)")
	return cmd
}

// shownMember is how a member is printed as JSON.
type shownMember struct {
	MemberID  member.MembershipID `json:"memberId"`
	TenantID  tenant.ID           `json:"tenantId"`
	UserID    tenant.UserID       `json:"userId"`
	Email     member.Email        `json:"email"`
	Name      string              `json:"name"`
	Role      tenant.Role         `json:"role"`
	CreatedAt instant             `json:"createdAt"`
}

func showMember(m inbound.Member) shownMember {
	return shownMember{
		MemberID: m.Membership.ID(), TenantID: m.Membership.Tenant(), UserID: m.User.ID(), Email: m.User.Email(), Name: m.User.Name(),
		Role: m.Membership.Role(), CreatedAt: instant(m.Membership.CreatedAt()),
	}
}

// addedMember is what member add --json prints.
type addedMember struct {
	shownMember
	Link   string `json:"link,omitempty"`
	Mailed bool   `json:"mailed"`
}

func (p *program) memberAdd(owner *string) *cobra.Command {
	var d inbound.MemberDraft
	cmd := &cobra.Command{
		Use: "add --tenant TENANT --email EMAIL --role ROLE", Short: "Make somebody a member, and print the link by which a new person comes in", Args: exactly(),
		Long: "Makes somebody a member of a tenant. Who has no account gets one, and who has not come in yet an invitation, which is\n" +
			"printed: once, within 72 hours. Where SLUICE_SMTP_URL is set the gateway mails one as well.\n\n" +
			"Roles: viewer reads; approver also answers questions, retries and cancels runs; editor also draws and publishes\n" +
			"workflows; admin does everything of the tenant.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.operateFor(cmd, *owner, func(ctx context.Context, op operatorPorts, who tenant.Caller) error {
				added, err := op.Memberships.Add(ctx, who, domain.IdempotencyKey{}, d)
				if err != nil {
					return err
				}
				out := addedMember{showMember(added.Member), added.Link, added.Mailed}
				switch {
				case p.json:
					return p.printJSON(out)
				case out.Link == "":
					return p.printf("%s is %s of %s, and has an account already\n", out.Email, article(out.Role), out.TenantID)
				}
				return p.printf("%s is %s of %s\n\nThe person comes in by this link, once, within 72 hours%s:\n\n  %s\n\nWhoever has it can use it. It is not shown again.\n", out.Email, article(out.Role), out.TenantID, mailed(out.Mailed), out.Link)
			})
		},
	}
	cmd.Flags().StringVar(&d.Email, "email", "", "mail address of the person")
	cmd.Flags().StringVar((*string)(&d.Role), "role", "", "what the person may do: viewer, approver, editor or admin")
	return cmd
}

// article puts one before a role.
func article(r tenant.Role) string {
	switch r {
	case tenant.ApproverRole, tenant.EditorRole, tenant.AdminRole:
		return "an " + string(r)
	default:
		return "a " + string(r)
	}
}

func (p *program) memberRemove(owner *string) *cobra.Command {
	return &cobra.Command{
		Use: "remove EMAIL --tenant TENANT", Short: "End a membership at once; the person's account stays", Args: exactly("the mail address of a member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operateFor(cmd, *owner, func(ctx context.Context, op operatorPorts, who tenant.Caller) error {
				gone, err := op.Memberships.Remove(ctx, who, args[0])
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(showMember(gone))
				}
				return p.printf("removed %s\n", gone.User.Email())
			})
		},
	}
}

func (p *program) memberList(owner *string) *cobra.Command {
	var limit, offset int
	cmd := &cobra.Command{
		Use: "list --tenant TENANT", Short: "List the members of a tenant, the newest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := domain.NewPageRequest(limit, offset)
			if err != nil {
				return fmt.Errorf("%w: %s", errUsage, explain(err))
			}
			return p.operateFor(cmd, *owner, func(ctx context.Context, op operatorPorts, who tenant.Caller) error {
				found, err := op.Memberships.List(ctx, who, page)
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(pageOf(found, showMember))
				}
				rows := [][]string{{"MEMBER", "EMAIL", "NAME", "ROLE", "SINCE"}}
				for _, m := range found.Items {
					s := showMember(m)
					rows = append(rows, []string{string(s.MemberID), string(s.Email), s.Name, string(s.Role), shown(&s.CreatedAt)})
				}
				if err := p.printTable(rows); err != nil {
					return err
				}
				return p.printf("\n%d of %d members\n", len(found.Items), found.Total)
			})
		},
	}
	pageFlags(cmd, &limit, &offset)
	return cmd
}
