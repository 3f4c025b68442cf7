package tenant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// Operation is something that a key may ask for. Its name is stable: it is the
// operation's name in the logs, the metrics and the API description.
type Operation string

// Access says whether a type of key may perform an operation.
type Access string

// The kinds of access.
const (
	Denied        Access = "denied"
	Allowed       Access = "allowed"
	TenantsChoice Access = "tenant's choice" // denied unless the tenant's settings say otherwise
)

// Permission is one row of the table of permissions.
type Permission struct {
	Operation Operation
	Public    Access
	Secret    Access  // of embed tokens, too, as far as their rights go
	Rights    []Right // all of which a key with rights needs; none for what no such key may do
	Role      Role    // the least role of a member who may; empty for what no member may do
}

// Authenticate is what every request needs, also one for an unknown route.
const Authenticate Operation = "ask"

// The operations of the gateway.
const (
	ReadWorkflows     Operation = "readWorkflows"
	CreateWorkflow    Operation = "createWorkflow"
	ChangeWorkflow    Operation = "changeWorkflow"
	DeleteWorkflow    Operation = "deleteWorkflow"
	ReadVersions      Operation = "readWorkflowVersions"
	CreateVersion     Operation = "createWorkflowVersion"
	ChangeVersion     Operation = "changeWorkflowVersion"
	DeleteVersion     Operation = "deleteWorkflowVersion"
	PublishVersion    Operation = "publishWorkflowVersion"
	ValidateVersion   Operation = "validateWorkflowVersion"
	CompleteVersion   Operation = "completeWorkflowVersion" // what is written in it
	RollbackWorkflow  Operation = "rollbackWorkflow"
	ReadTriggers      Operation = "readTriggers"
	CreateTrigger     Operation = "createTrigger"
	ChangeTrigger     Operation = "changeTrigger"
	DeleteTrigger     Operation = "deleteTrigger"
	PreviewSchedule   Operation = "previewSchedule"
	ReadHook          Operation = "readHook" // and the deliveries that it has received
	CreateHook        Operation = "createHook"
	ChangeHook        Operation = "changeHook"
	DeleteHook        Operation = "deleteHook"
	RotateHook        Operation = "rotateHook"
	TestHook          Operation = "testHook"
	ReplayDelivery    Operation = "replayHookDelivery"
	ReadSubTenants    Operation = "readSubTenants"
	CreateSubTenant   Operation = "createSubTenant"
	ChangeSubTenant   Operation = "changeSubTenant"
	DeleteSubTenant   Operation = "deleteSubTenant"
	ReadNodeRegistry  Operation = "readNodeRegistry"
	ReadTemplates     Operation = "readTemplates"
	ReadCustomNodes   Operation = "readCustomNodes"
	CreateCustomNode  Operation = "createCustomNode"
	ChangeCustomNode  Operation = "changeCustomNode"
	DeleteCustomNode  Operation = "deleteCustomNode"
	ReadKeys          Operation = "readApiKeys"
	CreateKey         Operation = "createApiKey"
	RotateKey         Operation = "rotateApiKey"
	RevokeKey         Operation = "revokeApiKey"
	ReadEmbedTokens   Operation = "readEmbedTokens"
	CreateEmbedToken  Operation = "createEmbedToken"
	RevokeEmbedTokens Operation = "revokeEmbedTokens"
	ReadSettings      Operation = "readSettings"
	ChangeSettings    Operation = "changeSettings"
	ReadAuditLog      Operation = "readAuditLog"
	ReadUsage         Operation = "readUsage"

	ReadWebhookEndpoints  Operation = "readWebhookEndpoints"
	CreateWebhookEndpoint Operation = "createWebhookEndpoint"
	ChangeWebhookEndpoint Operation = "changeWebhookEndpoint"
	DeleteWebhookEndpoint Operation = "deleteWebhookEndpoint"
	RotateWebhookSecret   Operation = "rotateWebhookSecret"
	TestWebhookEndpoint   Operation = "testWebhookEndpoint"
	ReadDeliveries        Operation = "readWebhookDeliveries"
	Redeliver             Operation = "redeliverWebhook"

	ReadConnections  Operation = "readConnections"
	CreateConnection Operation = "createConnection"
	ChangeConnection Operation = "changeConnection"
	DeleteConnection Operation = "deleteConnection"
	TestConnection   Operation = "testConnection" // calls a URL with it

	AuthorizeConnection Operation = "authorizeConnection" // asks a person for consent

	FireTrigger     Operation = "fireTrigger" // by a webhook call, by an event, by ingesting one
	ResumeRun       Operation = "resumeRun"
	ReadPauses      Operation = "readPauses" // what waits for a person
	AnswerPause     Operation = "answerPause"
	StartRun        Operation = "startRun" // by hand
	ReadRuns        Operation = "readRuns"
	FollowRun       Operation = "followRun"   // as it goes on
	FollowLists     Operation = "followLists" // what changes in them
	CancelRun       Operation = "cancelRun"
	RetryRun        Operation = "retryRun"
	RerunRun        Operation = "rerunRun"
	StartVersionRun Operation = "startWorkflowVersionRun"
	DeleteRun       Operation = "deleteRun"
	StartJob        Operation = "startJob" // on many runs
	ReadJobs        Operation = "readJobs"
	CancelJob       Operation = "cancelJob"
	Erase           Operation = "erase" // what is about somebody
	SimulateVersion Operation = "simulateWorkflowVersion"
	TestNode        Operation = "testWorkflowVersionNode" // executes it

	ReadNodeSecret   Operation = "readNodeSecret" // when it was made, never the secret itself
	RotateNodeSecret Operation = "rotateNodeSecret"
	CheckCustomNode  Operation = "checkCustomNode" // asks its endpoint whether it lives

	// What members and the operator's commands do; keys have no route to it.
	ReadMembers  Operation = "readMembers"
	AddMember    Operation = "addMember"
	ChangeMember Operation = "changeMember"
	RemoveMember Operation = "removeMember"
)

// anyRight stands for an operation that every key with rights may perform.
var anyRight = []Right{}

// permissions is the whole table: operation × type of key, and role of members.
var permissions = []Permission{
	{Authenticate, Allowed, Allowed, anyRight, ViewerRole},
	{ReadWorkflows, Allowed, Allowed, []Right{ReadWorkflowsRight}, ViewerRole},
	{CreateWorkflow, Denied, Allowed, []Right{WriteWorkflowsRight}, EditorRole},
	{ChangeWorkflow, Denied, Allowed, []Right{WriteWorkflowsRight}, EditorRole},
	{DeleteWorkflow, Denied, Allowed, []Right{WriteWorkflowsRight}, EditorRole},
	{ReadVersions, Allowed, Allowed, []Right{ReadWorkflowsRight}, ViewerRole},
	{CreateVersion, Denied, Allowed, []Right{WriteWorkflowsRight}, EditorRole},
	{ChangeVersion, Denied, Allowed, []Right{WriteWorkflowsRight}, EditorRole},
	{DeleteVersion, Denied, Allowed, []Right{WriteWorkflowsRight}, EditorRole},
	{PublishVersion, Denied, Allowed, []Right{PublishWorkflowsRight}, EditorRole},
	{ValidateVersion, Denied, Allowed, []Right{ReadWorkflowsRight}, ViewerRole},
	{CompleteVersion, Denied, Allowed, []Right{WriteWorkflowsRight}, EditorRole},
	{RollbackWorkflow, Denied, Allowed, []Right{PublishWorkflowsRight}, EditorRole},
	{ReadTriggers, Allowed, Allowed, []Right{ReadTriggersRight}, ViewerRole},
	{CreateTrigger, TenantsChoice, Allowed, []Right{WriteTriggersRight}, EditorRole},
	{ChangeTrigger, Denied, Allowed, []Right{WriteTriggersRight}, EditorRole},
	{DeleteTrigger, Denied, Allowed, []Right{WriteTriggersRight}, EditorRole},
	{PreviewSchedule, Denied, Allowed, []Right{ReadTriggersRight}, ViewerRole},
	{ReadHook, Denied, Allowed, []Right{ReadTriggersRight}, ViewerRole},
	{CreateHook, Denied, Allowed, []Right{WriteTriggersRight}, EditorRole},
	{ChangeHook, Denied, Allowed, []Right{WriteTriggersRight}, EditorRole},
	{DeleteHook, Denied, Allowed, []Right{WriteTriggersRight}, EditorRole},
	{RotateHook, Denied, Allowed, []Right{WriteTriggersRight}, EditorRole},
	{TestHook, Denied, Allowed, []Right{WriteTriggersRight}, EditorRole},
	{ReplayDelivery, Denied, Allowed, []Right{WriteTriggersRight, StartRunsRight}, EditorRole},
	{ReadSubTenants, Allowed, Allowed, nil, ViewerRole},
	{CreateSubTenant, Denied, Allowed, nil, EditorRole},
	{ChangeSubTenant, Denied, Allowed, nil, EditorRole},
	{DeleteSubTenant, Denied, Allowed, nil, AdminRole},
	{ReadNodeRegistry, Allowed, Allowed, anyRight, ViewerRole},
	{ReadTemplates, Denied, Allowed, anyRight, ViewerRole},
	{ReadCustomNodes, Denied, Allowed, nil, ViewerRole},
	{CreateCustomNode, Denied, Allowed, nil, AdminRole},
	{ChangeCustomNode, Denied, Allowed, nil, AdminRole},
	{DeleteCustomNode, Denied, Allowed, nil, AdminRole},
	{ReadKeys, Denied, Allowed, nil, AdminRole},
	{CreateKey, Denied, Allowed, nil, AdminRole},
	{RotateKey, Denied, Allowed, nil, AdminRole},
	{RevokeKey, Denied, Allowed, nil, AdminRole},
	{ReadEmbedTokens, Denied, Allowed, nil, AdminRole},
	{CreateEmbedToken, Denied, Allowed, nil, AdminRole},
	{RevokeEmbedTokens, Denied, Allowed, nil, AdminRole},
	{ReadSettings, Denied, Allowed, nil, ViewerRole},
	{ChangeSettings, Denied, Allowed, nil, AdminRole},
	{ReadAuditLog, Denied, Allowed, nil, AdminRole},
	{ReadUsage, Denied, Allowed, nil, ViewerRole},
	{ReadWebhookEndpoints, Denied, Allowed, nil, ViewerRole},
	{CreateWebhookEndpoint, Denied, Allowed, nil, AdminRole},
	{ChangeWebhookEndpoint, Denied, Allowed, nil, AdminRole},
	{DeleteWebhookEndpoint, Denied, Allowed, nil, AdminRole},
	{RotateWebhookSecret, Denied, Allowed, nil, AdminRole},
	{TestWebhookEndpoint, Denied, Allowed, nil, AdminRole},
	{ReadDeliveries, Denied, Allowed, nil, ViewerRole},
	{Redeliver, Denied, Allowed, nil, EditorRole},
	{ReadConnections, Denied, Allowed, []Right{ReadConnectionsRight}, ViewerRole},
	{CreateConnection, Denied, Allowed, []Right{WriteConnectionsRight}, EditorRole},
	{ChangeConnection, Denied, Allowed, []Right{WriteConnectionsRight}, EditorRole},
	{DeleteConnection, Denied, Allowed, []Right{WriteConnectionsRight}, EditorRole},
	{TestConnection, Denied, Allowed, []Right{WriteConnectionsRight}, EditorRole},
	{AuthorizeConnection, Denied, Allowed, []Right{WriteConnectionsRight}, EditorRole},
	{FireTrigger, Denied, Allowed, []Right{StartRunsRight}, EditorRole},
	{ResumeRun, Denied, Allowed, []Right{ActOnRunsRight}, ApproverRole},
	{ReadPauses, Denied, Allowed, []Right{ReadRunsRight}, ViewerRole},
	{AnswerPause, Denied, Allowed, []Right{ActOnRunsRight}, ApproverRole},
	{StartRun, Denied, Allowed, []Right{StartRunsRight}, EditorRole},
	{ReadRuns, Denied, Allowed, []Right{ReadRunsRight}, ViewerRole},
	{FollowRun, Denied, Allowed, []Right{ReadRunsRight}, ViewerRole},
	{FollowLists, Denied, Allowed, []Right{ReadRunsRight}, ViewerRole},
	{CancelRun, Denied, Allowed, []Right{ActOnRunsRight}, ApproverRole},
	{RetryRun, Denied, Allowed, []Right{ActOnRunsRight}, ApproverRole},
	{RerunRun, Denied, Allowed, []Right{ActOnRunsRight}, ApproverRole},
	{StartVersionRun, Denied, Allowed, []Right{StartRunsRight}, EditorRole},
	{DeleteRun, Denied, Allowed, nil, AdminRole},
	{StartJob, Denied, Allowed, []Right{ActOnRunsRight}, ApproverRole},
	{ReadJobs, Denied, Allowed, []Right{ReadRunsRight}, ViewerRole},
	{CancelJob, Denied, Allowed, []Right{ActOnRunsRight}, ApproverRole},
	{Erase, Denied, Allowed, nil, AdminRole},
	{SimulateVersion, Denied, Allowed, []Right{ReadWorkflowsRight}, ViewerRole},
	{TestNode, Denied, Allowed, []Right{WriteWorkflowsRight, StartRunsRight}, EditorRole},
	{ReadNodeSecret, Denied, Allowed, nil, AdminRole},
	{RotateNodeSecret, Denied, Allowed, nil, AdminRole},
	{CheckCustomNode, Denied, Allowed, nil, EditorRole},
	{ReadMembers, Denied, Allowed, nil, AdminRole},
	{AddMember, Denied, Allowed, nil, AdminRole},
	{ChangeMember, Denied, Allowed, nil, AdminRole},
	{RemoveMember, Denied, Allowed, nil, AdminRole},
}

var permissionOf = func() map[Operation]Permission {
	rows := make(map[Operation]Permission, len(permissions))
	for _, p := range permissions {
		rows[p.Operation] = p
	}
	return rows
}()

// ofWholeTenant are the operations on what belongs to no sub-tenant: nobody may perform them
// whose scope is one.
var ofWholeTenant = map[Operation]bool{
	CreateCustomNode: true, ChangeCustomNode: true, DeleteCustomNode: true, CheckCustomNode: true, ReadNodeSecret: true, RotateNodeSecret: true,
	ReadKeys: true, CreateKey: true, RotateKey: true, RevokeKey: true, ReadEmbedTokens: true, CreateEmbedToken: true, RevokeEmbedTokens: true,
	ReadSettings: true, ChangeSettings: true, ReadAuditLog: true, ReadUsage: true, Erase: true,
	ReadMembers: true, AddMember: true, ChangeMember: true, RemoveMember: true,
}

// acrossWorkflows are the operations that keep to a sub-tenant, and not to some of its workflows.
var acrossWorkflows = map[Operation]bool{StartJob: true}

// Permissions returns the whole table of permissions.
func Permissions() []Permission { return append([]Permission(nil), permissions...) }

// Access returns what a type of key may do; ok is false for an operation that has
// no row, which nobody may perform.
func (o Operation) Access(t KeyType) (access Access, ok bool) {
	p, ok := permissionOf[o]
	switch {
	case !ok:
		return Denied, false
	case t == Secret, t == Embed:
		return p.Secret, true
	case t == Session && p.Role.Valid():
		return Allowed, true
	case t == Session:
		return Denied, true
	default:
		return p.Public, true
	}
}

// Caller is who asks: a tenant, through one of its keys or by one of its members. It is an argument of
// every use case.
type Caller struct {
	Scope     Scope // which records the key reaches
	Key       KeyID
	KeyType   KeyType
	KeyName   string    // for people
	Narrowing Narrowing // what else limits the key
	Settings  Settings  // the tenant's settings as they were when the caller was recognized
	Member    Member    // who asks by a session, without a key; the zero value for nobody
	Hook      string    // the trigger of the hook that fires it, without a key; empty for none
}

// CallerWith is who asks with a key of the tenant.
func CallerWith(k *APIKey, ten *Tenant) Caller {
	return Caller{
		Scope: k.state.Narrowing.within(ten.ID()), Key: k.ID(), KeyType: k.Type(), KeyName: k.Name(), Narrowing: k.state.Narrowing, Settings: ten.Settings(),
	}
}

// Operator is the caller on whose behalf the operator of the gateway acts for a
// tenant, without a key: it may do what a secret key may.
func Operator(t ID) Caller { return Caller{Scope: All(t), KeyType: Secret} }

// Counted names those whose requests are counted together: all keys of a type; of embed tokens each subject of a
// sub-tenant by itself, or the sub-tenant where there is none; each session of a member, whatever the tenant.
func (c Caller) Counted() string {
	switch {
	case c.KeyType == Session:
		return "session/" + c.Member.Session
	case c.KeyType == Embed && c.Narrowing.SubTenant != nil:
		return fmt.Sprintf("%s/%s/%q/%q", c.Tenant(), Embed, string(*c.Narrowing.SubTenant), c.Narrowing.Subject)
	default:
		return string(c.Tenant()) + "/" + string(c.KeyType)
	}
}

// Tenant is whose key it is.
func (c Caller) Tenant() ID { return c.Scope.Tenant() }

// May returns nil when the caller may perform the operation, else a Forbidden
// error with the code key_type_not_allowed, role_not_allowed of a member, permission_missing where the key's rights stand against
// it, or outside_scope where only the caller's scope does.
func (c Caller) May(o Operation) error {
	row, known := permissionOf[o]
	access := row.Secret
	if c.KeyType == Public {
		access = row.Public
	}
	isChosen := access == TenantsChoice && o == CreateTrigger && c.Settings.PublicTriggers() == PublicTriggersLimited
	switch {
	case known && c.KeyType == Session:
		return c.Member.may(row)
	case !known || access != Allowed && !isChosen:
		return c.refuse()
	case c.Narrowing.Rights != nil && !c.hasRights(row.Rights):
		return missingRights(row.Rights)
	case ofWholeTenant[o] && !c.Scope.IsWhole():
		return domain.Fail(domain.Forbidden, "outside_scope", "Only a part of the tenant's records is within reach, and this concerns the tenant as a whole.")
	case acrossWorkflows[o] && c.Scope.Workflows() != nil:
		return domain.Fail(domain.Forbidden, "outside_scope", "Only some workflows are within reach, and this concerns all of them.")
	default:
		return nil
	}
}

// refuse is the error for what no key of the type may do.
func (c Caller) refuse() error {
	if c.KeyType == Public {
		return domain.Fail(domain.Forbidden, "key_type_not_allowed",
			"A public key (pk_) may not do this. Use a secret key (sk_), on your servers only.")
	}
	return domain.Fail(domain.Forbidden, "key_type_not_allowed", "A %s key may not do this.", c.KeyType)
}

// hasRights says whether the caller's rights are enough for an operation that needs these.
func (c Caller) hasRights(needed []Right) bool {
	return needed != nil && !slices.ContainsFunc(needed, func(r Right) bool { return !slices.Contains(c.Narrowing.Rights, r) })
}

func missingRights(needed []Right) error {
	if needed == nil {
		return domain.Fail(domain.Forbidden, "permission_missing", "This takes a secret key (sk_) without permissions of its own.")
	}
	names := make([]string, len(needed))
	for i, r := range needed {
		names[i] = string(r)
	}
	return domain.Fail(domain.Forbidden, "permission_missing", "This takes a key or token with the permission %s.", strings.Join(names, " and "))
}
