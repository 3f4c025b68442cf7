package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

func (p *program) auditCommand() *cobra.Command {
	return group("audit", "Read and verify the audit log", p.auditList(), p.auditExport(), p.auditHeads(), p.auditVerify())
}

// withChains runs a command on the logs of the configured database.
func (p *program) withChains(cmd *cobra.Command, do func(context.Context, inbound.AuditChains) error) error {
	return p.operate(cmd, func(ctx context.Context, op operatorPorts) error { return do(ctx, op.Audit) })
}

// auditFilter is which entries the options ask for.
type auditFilter struct {
	owner, from, to string
	audit.Filter
}

func (f *auditFilter) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.owner, "tenant", "", "id of the tenant (default: the operator's own log)")
	cmd.Flags().StringVar(&f.Actor, "actor", "", "id of the key, token or user, or name of the operator's token")
	cmd.Flags().StringVar(&f.Action, "action", "", "what was done, such as changeWorkflow")
	cmd.Flags().StringVar(&f.Target, "target", "", "id of the record that it was done to")
	cmd.Flags().StringVar(&f.from, "from", "", "only what was done then or later, such as 2027-01-31T09:00:00Z")
	cmd.Flags().StringVar(&f.to, "to", "", "only what was done before")
}

// read completes the filter.
func (f *auditFilter) read() (audit.Filter, error) {
	for _, one := range []struct {
		name, text string
		to         **time.Time
	}{{"--from", f.from, &f.From}, {"--to", f.to, &f.To}} {
		if one.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, one.text)
		if err != nil {
			return f.Filter, fmt.Errorf("%w: %s must be a time such as 2027-01-31T09:00:00Z", errUsage, one.name)
		}
		at = at.UTC()
		*one.to = &at
	}
	return f.Filter, nil
}

func (p *program) auditExport() *cobra.Command {
	var f auditFilter
	var format string
	cmd := &cobra.Command{
		Use: "export [--tenant TENANT]", Short: "Print entries, the oldest first, as lines of JSON or as CSV", Args: exactly(),
		Long: "Prints the entries of a log, the oldest first. Where it was interrupted, it goes on with --from and the time of the\n" +
			"last entry that was printed, which then comes once more.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.read()
			if err != nil {
				return err
			}
			if _, err := httpapi.EncodeAudit(format, nil, true); err != nil {
				return fmt.Errorf("%w: --format: %w", errUsage, err)
			}
			return p.withChains(cmd, func(ctx context.Context, chains inbound.AuditChains) error {
				progress, exported := p.showEntries(chainName(tenant.ID(f.owner)), p.stdout), int64(0)
				return chains.Export(ctx, tenant.ID(f.owner), filter, func(entries []audit.Entry) error {
					text, err := httpapi.EncodeAudit(format, entries, exported == 0)
					if err == nil {
						_, err = p.stdout.Write(text)
					}
					exported += int64(len(entries))
					progress(exported)
					return err
				})
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl or csv")
	return cmd
}

func (p *program) auditList() *cobra.Command {
	var f auditFilter
	cmd := &cobra.Command{
		Use: "list [--tenant TENANT]", Short: "List entries, the oldest first: who did what, and which fields changed", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.read()
			if err != nil {
				return err
			}
			return p.withChains(cmd, func(ctx context.Context, chains inbound.AuditChains) error {
				rows := [][]string{{"TIME", "ACTOR", "ACTION", "TARGET", "FIELDS"}}
				flush := func() error { // some at a time: a log may be long
					defer func() { rows = nil }()
					return p.printTable(rows)
				}
				err := chains.Export(ctx, tenant.ID(f.owner), filter, func(entries []audit.Entry) error {
					for _, e := range entries {
						fields := make([]string, 0, len(e.Changes()))
						for _, c := range e.Changes() {
							fields = append(fields, c.Field)
						}
						at := instant(e.At)
						rows = append(rows, []string{shown(&at), string(e.ActorKind) + " " + e.ActorID, e.Action, strings.TrimSpace(e.Target.Kind + " " + e.Target.ID), strings.Join(fields, ", ")})
					}
					return flush()
				})
				if err == nil && rows != nil {
					err = flush()
				}
				return err
			})
		},
	}
	f.flags(cmd)
	return cmd
}

// shownHead is how the end of a chain is printed as JSON. The operator's has no tenant.
type shownHead struct {
	Tenant   tenant.ID `json:"tenantId,omitempty"`
	Sequence int64     `json:"sequence"`
	Hash     string    `json:"hash"`
}

// chainName is whose log it is.
func chainName(owner tenant.ID) string {
	if owner == "" {
		return operatorsChain
	}
	return string(owner)
}

// operatorsChain stands for the operator's own log.
const operatorsChain = "operator"

func (p *program) auditHeads() *cobra.Command {
	return &cobra.Command{
		Use: "heads", Short: "Print where the chain of each log ends, to be kept elsewhere", Args: exactly(),
		Long: "Prints the number and the hash of the newest entry of each log. Kept where whoever can write to the database\n" +
			"cannot, they show later that no entry up to there was removed or altered: sluice audit verify --head",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withChains(cmd, func(ctx context.Context, chains inbound.AuditChains) error {
				heads, rows := []shownHead{}, [][]string{{"LOG", "ENTRIES", "HASH"}}
				err := chains.Heads(ctx, func(h audit.Head) error {
					heads = append(heads, shownHead{h.Tenant, h.Sequence, h.Hash.String()})
					rows = append(rows, []string{chainName(h.Tenant), fmt.Sprint(h.Sequence), h.Hash.String()})
					return nil
				})
				switch {
				case err != nil:
					return err
				case p.json:
					return p.printJSON(heads)
				default:
					return p.printTable(rows)
				}
			})
		},
	}
}

// errNotWhole is what verify fails with.
var errNotWhole = errors.New("the audit log is not what was written")

// beginning is the last entry that was removed because it was old.
type beginning struct {
	Sequence int64   `json:"behind"`
	At       instant `json:"at"`
}

// shownChain is how the verification of a chain is printed as JSON.
type shownChain struct {
	Tenant   tenant.ID  `json:"tenantId,omitempty"`
	Begins   *beginning `json:"begins,omitempty"`
	Checked  int64      `json:"checked"`
	Erased   int64      `json:"erasedValues"`
	Problems []string   `json:"problems"`
	More     int64      `json:"moreProblems,omitempty"`
}

func (p *program) auditVerify() *cobra.Command {
	var owner, head string
	cmd := &cobra.Command{
		Use: "verify [--tenant TENANT [--head HASH]]", Short: "Check that no entry was altered, removed or moved", Args: exactly(),
		Long: "Goes through the chain of each log, or of one, and says which entries were altered, are missing or stand elsewhere.\n" +
			"It fails when there are some. Who can write to the database could make a chain anew: with --head, a hash that\n" +
			"sluice audit heads printed earlier, the entries up to it must still be there; with its number, as in\n" +
			"7:5b1c…, verify can tell whether it is only older than what is kept. --tenant operator is the operator's\n" +
			"own log. Entries of the last seconds may not be in their chain yet.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var known *audit.Known
			if head != "" {
				var ok bool
				if known, ok = readHead(head); !ok || owner == "" {
					return fmt.Errorf("%w: --head is 64 hexadecimal digits, or a number, a colon and such digits, and needs --tenant", errUsage)
				}
			}
			cfg, err := readConfig(p.environ)
			if err != nil {
				return err
			}
			return p.withChains(cmd, func(ctx context.Context, chains inbound.AuditChains) error {
				return p.verifyChains(ctx, chains, owner, known, time.Now().Add(-cfg.AuditRetention))
			})
		},
	}
	cmd.Flags().StringVar(&owner, "tenant", "", "id of the tenant, or operator (default: all logs)")
	cmd.Flags().StringVar(&head, "head", "", "hash that sluice audit heads printed for the log, or NUMBER:HASH")
	return cmd
}

// readHead reads a hash, with the number of its entry in front of it or without.
func readHead(text string) (*audit.Known, bool) {
	var known audit.Known
	if number, hash, numbered := strings.Cut(text, ":"); numbered {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 1 {
			return nil, false
		}
		known.Sequence, text = n, hash
	}
	var ok bool
	known.Hash, ok = audit.ParseHash(text)
	return &known, ok
}

func (p *program) verifyChains(ctx context.Context, chains inbound.AuditChains, owner string, known *audit.Known, retained time.Time) error {
	var all []shownChain
	verify := func(id tenant.ID) error {
		v, err := chains.Verify(ctx, id, known, p.showEntries(chainName(id), nil))
		if err != nil {
			return err
		}
		v.Retain(retained)
		one := shownChain{id, nil, v.Checked, v.Erased, []string{}, v.Failed - int64(len(v.Problems))}
		if v.Begins.Sequence > 0 {
			one.Begins = &beginning{v.Begins.Sequence, instant(v.Begins.At)}
		}
		for _, problem := range v.Problems {
			one.Problems = append(one.Problems, problem.String())
		}
		all = append(all, one)
		return nil
	}
	var err error
	switch owner {
	case "":
		err = chains.Heads(ctx, func(h audit.Head) error {
			if failed := verify(h.Tenant); failed != nil { // the others are verified all the same
				all = append(all, shownChain{Tenant: h.Tenant, Problems: []string{"it cannot be verified: " + failed.Error()}})
			}
			return ctx.Err()
		})
	case operatorsChain:
		err = verify("")
	default:
		err = verify(tenant.ID(owner))
	}
	if err != nil && len(all) == 0 {
		return err
	}
	return errors.Join(p.printVerified(all), err) // also what was verified before it was interrupted
}

func (p *program) printVerified(all []shownChain) error {
	whole := true
	for _, one := range all {
		whole = whole && len(one.Problems) == 0
		if p.json {
			continue
		}
		result := "is whole"
		if len(one.Problems) > 0 {
			result = "IS NOT WHOLE"
		}
		begins := ""
		if one.Begins != nil {
			begins = fmt.Sprintf(", begins behind entry %d of %s", one.Begins.Sequence, shown(&one.Begins.At))
		}
		if err := p.printf("%s %s: %d entries checked, %d values erased%s\n", chainName(one.Tenant), result, one.Checked, one.Erased, begins); err != nil {
			return err
		}
		for _, problem := range one.Problems {
			if err := p.printf("  %s\n", problem); err != nil {
				return err
			}
		}
		if one.More > 0 {
			if err := p.printf("  and %d more\n", one.More); err != nil {
				return err
			}
		}
	}
	if p.json {
		if err := p.printJSON(append([]shownChain{}, all...)); err != nil {
			return err
		}
	}
	if !whole {
		return errNotWhole
	}
	return nil
}

// showEntries shows on a terminal how far the work on a chain is, unless the entries themselves go to it.
func (p *program) showEntries(name string, to io.Writer) func(int64) {
	if p.json || !isTerminal(p.stderr) || isTerminal(to) {
		return func(int64) {}
	}
	return func(entries int64) { _, _ = fmt.Fprintf(p.stderr, "\r\x1b[K%s: %d entries\r", name, entries) }
}
