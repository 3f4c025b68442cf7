package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain"
	domainrun "github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// runPorts are what the operator's commands on runs call.
type runPorts struct {
	All  inbound.OperatorRuns
	Runs inbound.Runs
}

func (p *program) runCommand() *cobra.Command {
	return group("run", "Look at the runs of all tenants, cancel and retry them",
		p.runList(), p.runShow(), p.runCancel(), p.runRetry())
}

// operateRuns runs one command on runs. What begins with a retry is computed as the gateway
// would, with its key and its addresses.
func (p *program) operateRuns(cmd *cobra.Command, do func(context.Context, runPorts) error) error {
	cfg, err := readConfig(p.environ)
	if err != nil {
		return err
	}
	store, err := cfg.openMigrated(cmd.Context())
	if err != nil {
		return err
	}
	defer closing(store, p.stderr)
	ports, err := cfg.runPorts(cmd.Context(), p, store)
	if err != nil {
		return err
	}
	return do(cmd.Context(), ports)
}

func (c config) runPorts(ctx context.Context, p *program, store *sqlstore.Store) (runPorts, error) {
	log, flush := newLogger(p.stderr, c)
	defer flush()
	key, err := runKey(ctx, log, store)
	if err != nil {
		return runPorts{}, err
	}
	addresses := new(hooksURL)
	addresses.set(c, c.baseURL(c.Listen))
	return newRunPorts(store, addresses.publicly, key, c.memory().OfRuns()), nil
}

// shownRun is how a run is printed as JSON: as the operator's API has it.
type shownRun struct {
	ID         domainrun.ID       `json:"id"`
	TenantID   tenant.ID          `json:"tenantId"`
	SubTenant  tenant.SubTenantID `json:"subTenantId,omitempty"`
	WorkflowID string             `json:"workflowId"`
	VersionID  string             `json:"workflowVersionId"`
	TriggerID  string             `json:"triggerId,omitempty"`
	ParentID   domainrun.ID       `json:"parentRunId,omitempty"`
	Cause      domainrun.Cause    `json:"cause"`
	Status     domainrun.Status   `json:"status"`
	Error      *shownFailure      `json:"error,omitempty"`
	Seq        int64              `json:"seq"`
	CreatedAt  instant            `json:"createdAt"`
	UpdatedAt  instant            `json:"updatedAt"`
	StartedAt  *instant           `json:"startedAt,omitempty"`
	FinishedAt *instant           `json:"finishedAt,omitempty"`
}

type shownFailure struct {
	Code   string `json:"code"`
	NodeID string `json:"nodeId,omitempty"`
}

func showFailure(f *domainrun.Failure) *shownFailure {
	if f == nil {
		return nil
	}
	return &shownFailure{f.Code, string(f.Node)}
}

func (f *shownFailure) String() string {
	switch {
	case f == nil:
		return "-"
	case f.NodeID == "":
		return f.Code
	default:
		return f.Code + " at " + f.NodeID
	}
}

func showRun(s domainrun.Summary) shownRun {
	return shownRun{
		ID: s.ID, TenantID: s.Tenant, SubTenant: s.SubTenant, WorkflowID: string(s.Workflow), VersionID: string(s.Version), TriggerID: string(s.Trigger),
		ParentID: s.Parent, Cause: s.Cause, Status: s.Status, Error: showFailure(s.Failure), Seq: s.Seq,
		CreatedAt: instant(s.CreatedAt), UpdatedAt: instant(s.UpdatedAt), StartedAt: (*instant)(s.StartedAt), FinishedAt: (*instant)(s.FinishedAt),
	}
}

func (s shownRun) rows() [][]string {
	rows := [][]string{
		{"run", string(s.ID)}, {"tenant", string(s.TenantID)}, {"workflow", s.WorkflowID}, {"version", s.VersionID}, {"trigger", orDash(s.TriggerID)},
		{"status", string(s.Status)}, {"error", s.Error.String()},
		{"created", shown(&s.CreatedAt)}, {"updated", shown(&s.UpdatedAt)}, {"started", shown(s.StartedAt)}, {"finished", shown(s.FinishedAt)},
	}
	return rows
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// shownRuns is a page of runs as JSON.
type shownRuns struct {
	pageJSON[shownRun]
	OldestWaiting *shownWaiting `json:"oldestWaiting,omitempty"`
}

type shownWaiting struct {
	RunID    domainrun.ID `json:"runId"`
	TenantID tenant.ID    `json:"tenantId"`
	Since    instant      `json:"since"`
}

func (p *program) runList() *cobra.Command {
	var limit, offset int
	var owner, status string
	var olderThan time.Duration
	cmd := &cobra.Command{
		Use: "list", Short: "List runs of all tenants, the newest first, and the one that has waited longest for a worker", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := domain.NewPageRequest(limit, offset)
			if err != nil {
				return fmt.Errorf("%w: %s", errUsage, explain(err))
			}
			f := domainrun.OperatorFilter{Tenant: tenant.ID(owner), Status: domainrun.Status(status)}
			if status != "" && !slices.Contains(domainrun.Statuses(), f.Status) {
				return fmt.Errorf("%w: --status is one of %s, not %q", errUsage, statusNames(), status)
			}
			if olderThan < 0 {
				return fmt.Errorf("%w: --older-than must be at least 0s, not %s", errUsage, olderThan)
			}
			if olderThan > 0 {
				before := time.Now().Add(-olderThan)
				f.Before = &before
			}
			return p.operateRuns(cmd, func(ctx context.Context, op runPorts) error {
				oldest, waits, err := op.All.OldestWaiting(ctx)
				if err != nil {
					return err
				}
				found, err := op.All.List(ctx, f, domain.Query{PageRequest: page})
				if err != nil {
					return err
				}
				out := shownRuns{pageJSON: pageOf(found, showRun)}
				if waits {
					out.OldestWaiting = &shownWaiting{oldest.Run, oldest.Tenant, instant(oldest.Since)}
				}
				return p.printRuns(out)
			})
		},
	}
	cmd.Flags().StringVar(&owner, "tenant", "", "only those of this tenant")
	cmd.Flags().StringVar(&status, "status", "", "only those with this status: "+statusNames())
	cmd.Flags().DurationVar(&olderThan, "older-than", 0, "only those that were created longer ago, such as 1h30m")
	pageFlags(cmd, &limit, &offset)
	return cmd
}

// statusNames lists what a run's status can be.
func statusNames() string {
	names := make([]string, 0, len(domainrun.Statuses()))
	for _, s := range domainrun.Statuses() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

func (p *program) printRuns(out shownRuns) error {
	if p.json {
		return p.printJSON(out)
	}
	rows := [][]string{{"RUN", "TENANT", "WORKFLOW", "STATUS", "ERROR", "CREATED"}}
	for _, s := range out.Items {
		rows = append(rows, []string{string(s.ID), string(s.TenantID), s.WorkflowID, string(s.Status), s.Error.String(), shown(&s.CreatedAt)})
	}
	if err := p.printTable(rows); err != nil {
		return err
	}
	if err := p.printf("\n%d of %d runs\n", len(out.Items), out.Total); err != nil || out.OldestWaiting == nil {
		return err
	}
	return p.printf("%s of %s has waited for a worker since %s\n", out.OldestWaiting.RunID, out.OldestWaiting.TenantID, shown(&out.OldestWaiting.Since))
}

// shownStanding is one run as JSON.
type shownStanding struct {
	shownRun
	Engine domainrun.Engine `json:"engine"`
	Queue  *shownQueue      `json:"queue,omitempty"`
	Nodes  []shownNode      `json:"nodes"`
}

type shownQueue struct {
	FreeAt      *instant `json:"freeAt,omitempty"`
	Worker      string   `json:"worker,omitempty"`
	LeasedUntil *instant `json:"leasedUntil,omitempty"`
}

type shownNode struct {
	NodeID        string               `json:"nodeId"`
	Status        domainrun.NodeStatus `json:"status"`
	Attempts      int                  `json:"attempts"`
	Error         *shownFailure        `json:"error,omitempty"`
	StartedAt     *instant             `json:"startedAt,omitempty"`
	FinishedAt    *instant             `json:"finishedAt,omitempty"`
	NextAttemptAt *instant             `json:"nextAttemptAt,omitempty"`
	Waiting       *shownPause          `json:"waiting,omitempty"`
}

type shownPause struct {
	Kind  domainrun.PauseKind `json:"kind"`
	Since instant             `json:"since"`
	Until *instant            `json:"until,omitempty"`
}

func showStanding(found domainrun.Standing, whole *domainrun.Run) shownStanding {
	out := shownStanding{shownRun: showRun(found.Summary), Engine: found.Engine, Nodes: []shownNode{}}
	if found.FreeAt != nil || found.LeasedUntil != nil {
		out.Queue = &shownQueue{(*instant)(found.FreeAt), found.Worker, (*instant)(found.LeasedUntil)}
	}
	for _, n := range whole.Nodes() {
		one := shownNode{
			NodeID: string(n.ID), Status: n.Status, Attempts: n.Attempts, Error: showFailure(n.Failure),
			StartedAt: (*instant)(n.StartedAt), FinishedAt: (*instant)(n.FinishedAt), NextAttemptAt: (*instant)(n.RetryAt),
		}
		if n.Pause != nil && n.Status == domainrun.NodeWaiting {
			one.Waiting = &shownPause{n.Pause.Kind, instant(n.Pause.Since), (*instant)(n.Pause.Until)}
		}
		out.Nodes = append(out.Nodes, one)
	}
	return out
}

func (p *program) runShow() *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Short: "Show where a run stands: its nodes, and which worker has it", Args: exactly("the id of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operateRuns(cmd, func(ctx context.Context, op runPorts) error {
				found, err := op.All.Get(ctx, domainrun.ID(args[0]))
				if err != nil {
					return err
				}
				whole, err := op.Runs.Get(ctx, tenant.Operator(found.Tenant), found.ID)
				if err != nil {
					return err
				}
				return p.printStanding(showStanding(found, whole.Run))
			})
		},
	}
}

func (p *program) printStanding(s shownStanding) error {
	if p.json {
		return p.printJSON(s)
	}
	rows := append(s.rows(), []string{"engine", string(s.Engine)})
	if q := s.Queue; q != nil {
		rows = append(rows, []string{"free from", shown(q.FreeAt)}, []string{"worker", orDash(q.Worker)}, []string{"leased until", shown(q.LeasedUntil)})
	}
	if err := p.printTable(rows); err != nil {
		return err
	}
	table := [][]string{{"NODE", "STATUS", "ATTEMPTS", "ERROR", "STARTED", "NEXT ATTEMPT", "WAITS FOR", "UNTIL"}}
	for _, n := range s.Nodes {
		row := []string{n.NodeID, string(n.Status), fmt.Sprint(n.Attempts), n.Error.String(), shown(n.StartedAt), shown(n.NextAttemptAt), "-", "-"}
		if n.Waiting != nil {
			row[6], row[7] = string(n.Waiting.Kind), shown(n.Waiting.Until)
		}
		table = append(table, row)
	}
	if err := p.printf("\n"); err != nil {
		return err
	}
	return p.printTable(table)
}

func (p *program) runCancel() *cobra.Command {
	var reason string
	cmd := p.runChange("cancel", "End a run that has not ended yet", func(ctx context.Context, op runPorts, who tenant.Caller, id domainrun.ID) (domainrun.Summary, error) {
		return op.Runs.Cancel(ctx, who, domain.IdempotencyKey{}, id, reason)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why, which the tenant sees in the history of the run; at most 1000 characters")
	return cmd
}

func (p *program) runRetry() *cobra.Command {
	return p.runChange("retry", "Continue a failed run where it failed", func(ctx context.Context, op runPorts, who tenant.Caller, id domainrun.ID) (domainrun.Summary, error) {
		return op.Runs.Retry(ctx, who, domain.IdempotencyKey{}, id)
	})
}

// runChange is a command that changes a run of any tenant, and shows it.
func (p *program) runChange(name, short string, change func(context.Context, runPorts, tenant.Caller, domainrun.ID) (domainrun.Summary, error)) *cobra.Command {
	return &cobra.Command{
		Use: name + " RUN", Short: short, Args: exactly("the id of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operateRuns(cmd, func(ctx context.Context, op runPorts) error {
				found, err := op.All.Get(ctx, domainrun.ID(args[0]))
				if err != nil {
					return err
				}
				changed, err := change(ctx, op, tenant.Operator(found.Tenant), found.ID)
				if err != nil {
					return err
				}
				s := showRun(changed)
				if p.json {
					return p.printJSON(s)
				}
				return p.printTable(s.rows())
			})
		},
	}
}
