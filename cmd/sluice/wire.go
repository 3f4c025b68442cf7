//go:build wireinject

package main

import (
	"github.com/google/wire"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/admission"
	"github.com/sluicehq/sluice/application/audit"
	"github.com/sluicehq/sluice/application/changes"
	"github.com/sluicehq/sluice/application/connections"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/firing"
	"github.com/sluicehq/sluice/application/hooks"
	"github.com/sluicehq/sluice/application/jobs"
	"github.com/sluicehq/sluice/application/members"
	"github.com/sluicehq/sluice/application/nodes"
	"github.com/sluicehq/sluice/application/processes"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/application/templates"
	"github.com/sluicehq/sluice/application/tenants"
	"github.com/sluicehq/sluice/application/triggers"
	"github.com/sluicehq/sluice/application/upkeep"
	"github.com/sluicehq/sluice/application/usage"
	"github.com/sluicehq/sluice/application/webhooks"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain/node"
	domainrun "github.com/sluicehq/sluice/domain/run"
	domainusage "github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// driven binds each outbound port to its adapter.
var driven = wire.NewSet(
	wire.Struct(new(system.Clock)), wire.Bind(new(outbound.Clock), new(system.Clock)),
	wire.Struct(new(system.Random)), wire.Bind(new(outbound.Random), new(system.Random)),
	wire.Struct(new(expression.Checker)), wire.Bind(new(workflow.Expressions), new(expression.Checker)),
	linkedCompiler, wire.Bind(new(domainrun.Compiler), new(expression.Compiler)),
	sqlstore.NewRunSignals, wire.Bind(new(outbound.RunSignals), new(*sqlstore.RunSignals)),
	directory.NewHooks, wire.Bind(new(outbound.HookDirectory), new(*directory.Hooks)),
	wire.Struct(new(egress.Names)), wire.Bind(new(outbound.HostNames), new(egress.Names)),
	directory.NewEndpoints, wire.Bind(new(outbound.NodeEndpoints), new(*directory.Endpoints)),
)

// core binds each inbound port to its use cases.
var core = wire.NewSet(
	audit.NewLog, wire.Bind(new(inbound.AuditLog), new(*audit.Log)),
	audit.NewChains, wire.Bind(new(inbound.AuditChains), new(*audit.Chains)),
	admission.New, countedAdmission,
	nodes.New, wire.Bind(new(inbound.Nodes), new(*nodes.Service)),
	templates.New, wire.Bind(new(inbound.Templates), new(*templates.Service)),
	nodes.NewChecks, wire.Bind(new(inbound.NodeChecks), new(*nodes.Checks)),
	nodes.NewCustom, nodes.NewChecked, wire.Bind(new(inbound.CustomNodes), new(*nodes.Checked)),
	nodes.NewSecrets, wire.Bind(new(inbound.NodeSecrets), new(*nodes.Secrets)),
	checkedSettings, wire.Bind(new(inbound.Settings), new(*nodes.Settings)),
	countedSelections, execution.NewAllowance, firing.New, wire.Bind(new(inbound.Firing), new(*firing.Service)), wire.Bind(new(inbound.HookFiring), new(*firing.Service)),
	hooks.New, wire.Bind(new(inbound.Hooks), new(*hooks.Service)), wire.Bind(new(inbound.HookDeliveries), new(*hooks.Service)), wire.Bind(new(inbound.HookIntake), new(*hooks.Service)),
	wire.Bind(new(inbound.DeliveryReplayer), new(*hooks.Service)), hookFigures,
	connections.NewTokens, wire.Bind(new(inbound.GrantKeeper), new(*connections.Tokens)),
	connections.NewConsents, wire.Bind(new(inbound.Consents), new(*connections.Consents)),
	connections.NewCredentials, wire.Bind(new(outbound.Credentials), new(*connections.Credentials)),
	connections.New, wire.Bind(new(inbound.Connections), new(*connections.Service)),
	jobs.New, wire.Bind(new(inbound.Jobs), new(*jobs.Service)), wire.Bind(new(inbound.Erasures), new(*jobs.Service)),
	jobs.NewWorker, wire.Bind(new(inbound.JobWorker), new(*jobs.Worker)),
	runs.NewQuestions, wire.Bind(new(inbound.Pauses), new(*runs.Questions)),
	runs.NewOperator, wire.Bind(new(inbound.OperatorRuns), new(*runs.Operator)),
	runs.NewPages, wire.Bind(new(inbound.AnswerPages), new(*runs.Pages)),
	processes.New, wire.Bind(new(inbound.Processes), new(*processes.Service)),
	concurrentScheduler, wire.Bind(new(inbound.Scheduler), new(*schedules.Scheduler)),
	schedules.New, wire.Bind(new(inbound.Schedules), new(*schedules.Service)),
	tenants.New, wire.Bind(new(inbound.Tenants), new(*tenants.Service)),
	tenants.NewKeys, wire.Bind(new(inbound.APIKeys), new(*tenants.Keys)),
	tenants.NewEmbedTokens, wire.Bind(new(inbound.EmbedTokens), new(*tenants.EmbedTokens)),
	tenants.NewSettings,
	tenants.NewEmbedPages, wire.Bind(new(inbound.EmbedPages), new(*tenants.EmbedPages)),
	tenants.NewSubTenants, wire.Bind(new(inbound.SubTenants), new(*tenants.SubTenants)),
	triggers.New, wire.Bind(new(inbound.Triggers), new(*triggers.Service)),
	upkeep.New, wire.Bind(new(inbound.Upkeep), new(*upkeep.Service)),
	connectedEndpoints, wire.Bind(new(inbound.WebhookEndpoints), new(*webhooks.Endpoints)),
	webhooks.NewDeliveries, wire.Bind(new(inbound.WebhookDeliveries), new(*webhooks.Deliveries)),
	connectedDispatcher, wire.Bind(new(inbound.Dispatcher), new(*webhooks.Dispatcher)),
	connectedWorker, wire.Bind(new(inbound.Worker), new(*worker.Worker)),
	usage.New, wire.Bind(new(inbound.Usage), new(*usage.Service)), wire.Bind(new(inbound.OperatorUsage), new(*usage.Service)), wire.Bind(new(inbound.UsageVerification), new(*usage.Service)),
	workflows.New, wire.Bind(new(inbound.Workflows), new(*workflows.Service)),
)

// countedAdmission counts requests.
func countedAdmission(s *admission.Service, tally *domainusage.Tally) inbound.Admission {
	return usage.NewAdmission(s, tally)
}

// countedSelections counts what starts no run.
func countedSelections(compiler domainrun.Compiler, budgets outbound.Budgets, tally *domainusage.Tally) *execution.Selections {
	return execution.NewSelections(compiler, budgets).WithTally(tally)
}

// concurrentScheduler deals with a backlog by as many units as the database gains by.
func concurrentScheduler(store *sqlstore.Store, work outbound.UnitOfWork, selections *execution.Selections, signals outbound.RunSignals, clock outbound.Clock, random outbound.Random,
	allowance *execution.Allowance) *schedules.Scheduler {
	return schedules.NewScheduler(work, selections, signals, clock, random, allowance).WithBacklogUnits(store.ParallelSchedules())
}

// hookFigures count deliveries.
func hookFigures(s *hooks.Service) *hooks.Figures { return s.Figures() }

// checkedSettings has the endpoint that custom nodes fall back on checked when it changes.
func checkedSettings(own *tenants.Settings, checks *nodes.Checks) *nodes.Settings {
	return nodes.NewSettings(own, checks)
}

// boundedVersions checks versions within the memory for requests.
func boundedVersions(work outbound.UnitOfWork, directory outbound.Directory, expressions workflow.Expressions, clock outbound.Clock, random outbound.Random, code outbound.CodeRunner,
	compiler domainrun.Compiler, budgets outbound.Budgets, opts httpapi.Options) *workflows.Versions {
	return workflows.NewVersions(work, directory, expressions, clock, random).WithBudget(opts.Memory.Intake).WithCode(code).WithValues(compiler, budgets)
}

// offeredTypes leaves out code where there is nothing that runs it.
func offeredTypes(work outbound.UnitOfWork, code outbound.CodeRunner) *directory.Directory {
	if code == nil {
		return directory.New(work).SwitchOff(node.Code)
	}
	return directory.New(work)
}

// computingRuns has simulations run code, and tests execute nodes.
func computingRuns(work outbound.UnitOfWork, directory outbound.Directory, compiler domainrun.Compiler, signals outbound.RunSignals,
	clock outbound.Clock, random outbound.Random, key domainrun.Key, budgets outbound.Budgets, allowance *execution.Allowance, runner outbound.NodeRunner, endpoints outbound.NodeEndpoints, credentials outbound.Credentials) *runs.Service {
	return runs.New(work, directory, compiler, signals, clock, random, key, budgets, allowance).WithNodes(runner, endpoints).WithCredentials(credentials)
}

// linkedCompiler has link() give addresses under which the world outside reaches the gateway.
func linkedCompiler(public connections.PublicURL, key domainrun.Key) expression.Compiler {
	return expression.Compiler{Links: &domainrun.Links{Key: key, Base: public}}
}

// connectedEndpoints may have connections.
func connectedEndpoints(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random, names outbound.HostNames) *webhooks.Endpoints {
	return webhooks.NewEndpoints(work, clock, random).WithConnections(names)
}

// connectedDispatcher sends with what connections give out.
func connectedDispatcher(work outbound.UnitOfWork, sender outbound.Sender, clock outbound.Clock, random outbound.Random, credentials outbound.Credentials) *webhooks.Dispatcher {
	return webhooks.NewDispatcher(work, sender, clock, random).WithCredentials(credentials)
}

// connectedWorker calls with what connections give out, and hands runs over to an engine.
func connectedWorker(work outbound.UnitOfWork, nodes outbound.NodeRunner, endpoints outbound.NodeEndpoints, compiler domainrun.Compiler, directory outbound.Directory,
	signals outbound.RunSignals, random outbound.Random, key domainrun.Key, budgets outbound.Budgets, allowance *execution.Allowance, opts worker.Options, credentials outbound.Credentials, engine outbound.Engine) *worker.Worker {
	return worker.New(work, nodes, endpoints, compiler, directory, signals, random, key, budgets, allowance, opts).WithCredentials(credentials).WithEngine(engine)
}

// recordedWork has the audit log say what a command changes.
func recordedWork(store *sqlstore.Store, clock outbound.Clock, random outbound.Random) outbound.UnitOfWork {
	return audit.NewWork(store, clock, random)
}

func recordedInserter(store *sqlstore.Store, random outbound.Random) outbound.TriggerInserter {
	return audit.NewInserter(sqlstore.NewTriggerInserter(store), random)
}

// newGateway assembles what sluice serve runs. work and inserter are the store's, perhaps
// traced; runner makes the calls of nodes, code runs what tenants wrote, nil for
// none, tally counts what is not recorded, sender makes the calls of webhooks, engine takes runs, nil for none, and tokens asks authorization servers; key is that of the
// runs' secrets, origin where the addresses of hooks are, public where people reach the gateway, letters what brings links to them, hashes what checks their passwords, provider with whom they sign in, lists the memory for what changes in lists, and kept how long entries of the audit log are.
func newGateway(store *sqlstore.Store, work outbound.UnitOfWork, inserter outbound.TriggerInserter, limiter outbound.Limiter, runner outbound.NodeRunner, code outbound.CodeRunner, tally *domainusage.Tally, sender outbound.Sender, engine outbound.Engine,
	tokens outbound.TokenEndpoint, public connections.PublicURL, key domainrun.Key, budgets outbound.Budgets, lists outbound.Budget, kept audit.Retention, capacity worker.Options, origin hooks.Origin, letters members.Letters, hashes outbound.Passwords, provider outbound.IdentityProvider, opts httpapi.Options) (gateway, error) {
	wire.Build(driven, core, boundedVersions, offeredTypes, wire.Bind(new(outbound.Directory), new(*directory.Directory)),
		computingRuns, wire.Bind(new(inbound.Runs), new(*runs.Service)), wire.Bind(new(inbound.RunOutcomes), new(*runs.Service)), wire.Bind(new(inbound.Trying), new(*runs.Service)),
		wire.Bind(new(inbound.Versions), new(*workflows.Versions)), wire.Bind(new(inbound.Publishing), new(*workflows.Versions)), wire.Bind(new(inbound.Completions), new(*workflows.Versions)),
		wire.Bind(new(outbound.Queues), new(*sqlstore.Store)), wire.Bind(new(outbound.ListChanges), new(*sqlstore.Store)), changes.New, wire.Bind(new(inbound.ListChanges), new(*changes.Service)),
		usage.NewKeeper, wire.Bind(new(inbound.UsageKeeper), new(*usage.Keeper)),
		audit.NewSealer, wire.Bind(new(inbound.AuditSealer), new(*audit.Sealer)),
		members.New, wire.Bind(new(inbound.Accounts), new(*members.Service)), wire.Bind(new(inbound.SignInElsewhere), new(*members.Service)), wire.Bind(new(inbound.MemberSessions), new(*members.Service)),
		members.NewForgotten, wire.Bind(new(inbound.ForgottenPasswords), new(*members.Forgotten)), members.NewMailQueue, wire.Bind(new(inbound.MailQueue), new(*members.MailQueue)), members.NewMemberships, wire.Bind(new(inbound.Memberships), new(*members.Memberships)),
		wire.Struct(new(httpapi.Ports), "*"), httpapi.New, wire.Struct(new(gateway), "*"))
	return gateway{}, nil
}

// newRunPorts assembles what the operator's commands on runs call.
func newRunPorts(store *sqlstore.Store, public connections.PublicURL, key domainrun.Key, budgets outbound.Budgets) runPorts {
	wire.Build(wire.Bind(new(outbound.UnitOfWork), new(*sqlstore.Store)), driven, core, directory.New, wire.Bind(new(outbound.Directory), new(*directory.Directory)),
		domainusage.NewTally, runs.New, wire.Bind(new(inbound.Runs), new(*runs.Service)), wire.Struct(new(runPorts), "*"))
	return runPorts{}
}

// newOperatorPorts assembles what the operator's commands call; letters bring links to people.
func newOperatorPorts(store *sqlstore.Store, letters members.Letters) operatorPorts {
	wire.Build(recordedWork, recordedInserter, memory.New, wire.Bind(new(outbound.Limiter), new(*memory.Limiter)),
		driven, core, directory.New, wire.Bind(new(outbound.Directory), new(*directory.Directory)), workflows.NewVersions, wire.Bind(new(inbound.Versions), new(*workflows.Versions)), wire.Bind(new(inbound.Publishing), new(*workflows.Versions)),
		members.NewUsers, wire.Bind(new(inbound.Users), new(*members.Users)), members.NewMemberships, wire.Bind(new(inbound.Memberships), new(*members.Memberships)),
		wire.Struct(new(operatorPorts), "*"))
	return operatorPorts{}
}
