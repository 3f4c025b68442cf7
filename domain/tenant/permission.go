package tenant

import "github.com/sluicehq/sluice/domain"

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
	Secret    Access
}

// Authenticate is what every request needs, also one for an unknown route.
const Authenticate Operation = "ask"

// The operations of the gateway.
const (
	ReadWorkflows    Operation = "readWorkflows"
	CreateWorkflow   Operation = "createWorkflow"
	ChangeWorkflow   Operation = "changeWorkflow"
	DeleteWorkflow   Operation = "deleteWorkflow"
	ReadVersions     Operation = "readWorkflowVersions"
	CreateVersion    Operation = "createWorkflowVersion"
	ChangeVersion    Operation = "changeWorkflowVersion"
	DeleteVersion    Operation = "deleteWorkflowVersion"
	PublishVersion   Operation = "publishWorkflowVersion"
	ValidateVersion  Operation = "validateWorkflowVersion"
	CompleteVersion  Operation = "completeWorkflowVersion" // what is written in it
	RollbackWorkflow Operation = "rollbackWorkflow"
	ReadTriggers     Operation = "readTriggers"
	CreateTrigger    Operation = "createTrigger"
	ChangeTrigger    Operation = "changeTrigger"
	DeleteTrigger    Operation = "deleteTrigger"
	PreviewSchedule  Operation = "previewSchedule"
	ReadHook         Operation = "readHook" // and the deliveries that it has received
	CreateHook       Operation = "createHook"
	ChangeHook       Operation = "changeHook"
	DeleteHook       Operation = "deleteHook"
	RotateHook       Operation = "rotateHook"
	TestHook         Operation = "testHook"
	ReplayDelivery   Operation = "replayHookDelivery"
	ReadSubTenants   Operation = "readSubTenants"
	CreateSubTenant  Operation = "createSubTenant"
	ChangeSubTenant  Operation = "changeSubTenant"
	DeleteSubTenant  Operation = "deleteSubTenant"
	ReadNodeRegistry Operation = "readNodeRegistry"
	ReadCustomNodes  Operation = "readCustomNodes"
	CreateCustomNode Operation = "createCustomNode"
	ChangeCustomNode Operation = "changeCustomNode"
	DeleteCustomNode Operation = "deleteCustomNode"
	ReadKeys         Operation = "readApiKeys"
	CreateKey        Operation = "createApiKey"
	RotateKey        Operation = "rotateApiKey"
	RevokeKey        Operation = "revokeApiKey"
	ReadSettings     Operation = "readSettings"
	ChangeSettings   Operation = "changeSettings"

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

	FireTrigger     Operation = "fireTrigger" // by a webhook call, by an event, by ingesting one
	ResumeRun       Operation = "resumeRun"
	StartRun        Operation = "startRun" // by hand
	ReadRuns        Operation = "readRuns"
	FollowRun       Operation = "followRun"   // as it goes on
	FollowLists     Operation = "followLists" // what changes in them
	CancelRun       Operation = "cancelRun"
	RetryRun        Operation = "retryRun"
	RerunRun        Operation = "rerunRun"
	StartVersionRun Operation = "startWorkflowVersionRun"
	StartJob        Operation = "startJob" // on many runs
	ReadJobs        Operation = "readJobs"
	CancelJob       Operation = "cancelJob"
	SimulateVersion Operation = "simulateWorkflowVersion"
	TestNode        Operation = "testWorkflowVersionNode" // executes it

	ReadNodeSecret   Operation = "readNodeSecret" // when it was made, never the secret itself
	RotateNodeSecret Operation = "rotateNodeSecret"
	CheckCustomNode  Operation = "checkCustomNode" // asks its endpoint whether it lives
)

// permissions is the whole table: operation × type of key (specification,
// "Authentication", and the rows that settle what it leaves open).
var permissions = []Permission{
	{Authenticate, Allowed, Allowed},
	{ReadWorkflows, Allowed, Allowed},
	{CreateWorkflow, Denied, Allowed},
	{ChangeWorkflow, Denied, Allowed},
	{DeleteWorkflow, Denied, Allowed},
	{ReadVersions, Allowed, Allowed},
	{CreateVersion, Denied, Allowed},
	{ChangeVersion, Denied, Allowed},
	{DeleteVersion, Denied, Allowed},
	{PublishVersion, Denied, Allowed},
	{ValidateVersion, Denied, Allowed},
	{CompleteVersion, Denied, Allowed},
	{RollbackWorkflow, Denied, Allowed},
	{ReadTriggers, Allowed, Allowed},
	{CreateTrigger, TenantsChoice, Allowed},
	{ChangeTrigger, Denied, Allowed},
	{DeleteTrigger, Denied, Allowed},
	{PreviewSchedule, Denied, Allowed},
	{ReadHook, Denied, Allowed},
	{CreateHook, Denied, Allowed},
	{ChangeHook, Denied, Allowed},
	{DeleteHook, Denied, Allowed},
	{RotateHook, Denied, Allowed},
	{TestHook, Denied, Allowed},
	{ReplayDelivery, Denied, Allowed},
	{ReadSubTenants, Allowed, Allowed},
	{CreateSubTenant, Denied, Allowed},
	{ChangeSubTenant, Denied, Allowed},
	{DeleteSubTenant, Denied, Allowed},
	{ReadNodeRegistry, Allowed, Allowed},
	{ReadCustomNodes, Denied, Allowed},
	{CreateCustomNode, Denied, Allowed},
	{ChangeCustomNode, Denied, Allowed},
	{DeleteCustomNode, Denied, Allowed},
	{ReadKeys, Denied, Allowed},
	{CreateKey, Denied, Allowed},
	{RotateKey, Denied, Allowed},
	{RevokeKey, Denied, Allowed},
	{ReadSettings, Denied, Allowed},
	{ChangeSettings, Denied, Allowed},
	{ReadWebhookEndpoints, Denied, Allowed},
	{CreateWebhookEndpoint, Denied, Allowed},
	{ChangeWebhookEndpoint, Denied, Allowed},
	{DeleteWebhookEndpoint, Denied, Allowed},
	{RotateWebhookSecret, Denied, Allowed},
	{TestWebhookEndpoint, Denied, Allowed},
	{ReadDeliveries, Denied, Allowed},
	{Redeliver, Denied, Allowed},
	{ReadConnections, Denied, Allowed},
	{CreateConnection, Denied, Allowed},
	{ChangeConnection, Denied, Allowed},
	{DeleteConnection, Denied, Allowed},
	{TestConnection, Denied, Allowed},
	{FireTrigger, Denied, Allowed},
	{ResumeRun, Denied, Allowed},
	{StartRun, Denied, Allowed},
	{ReadRuns, Denied, Allowed},
	{FollowRun, Denied, Allowed},
	{FollowLists, Denied, Allowed},
	{CancelRun, Denied, Allowed},
	{RetryRun, Denied, Allowed},
	{RerunRun, Denied, Allowed},
	{StartVersionRun, Denied, Allowed},
	{StartJob, Denied, Allowed},
	{ReadJobs, Denied, Allowed},
	{CancelJob, Denied, Allowed},
	{SimulateVersion, Denied, Allowed},
	{TestNode, Denied, Allowed},
	{ReadNodeSecret, Denied, Allowed},
	{RotateNodeSecret, Denied, Allowed},
	{CheckCustomNode, Denied, Allowed},
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
	ReadKeys: true, CreateKey: true, RotateKey: true, RevokeKey: true, ReadSettings: true, ChangeSettings: true,
}

// Permissions returns the whole table of permissions.
func Permissions() []Permission { return append([]Permission(nil), permissions...) }

// Access returns what a type of key may do; ok is false for an operation that has
// no row, which nobody may perform.
func (o Operation) Access(t KeyType) (access Access, ok bool) {
	p, ok := permissionOf[o]
	switch {
	case !ok:
		return Denied, false
	case t == Secret:
		return p.Secret, true
	default:
		return p.Public, true
	}
}

// Caller is who asks: a tenant, through one of its keys. It is an argument of
// every use case.
type Caller struct {
	Scope    Scope // which records the key reaches
	Key      KeyID
	KeyType  KeyType
	Settings Settings // the tenant's settings as they were when the caller was recognized
}

// Operator is the caller on whose behalf the operator of the gateway acts for a
// tenant, without a key: it may do what a secret key may.
func Operator(t ID) Caller { return Caller{Scope: All(t), KeyType: Secret} }

// Tenant is whose key it is.
func (c Caller) Tenant() ID { return c.Scope.Tenant() }

// May returns nil when the caller may perform the operation, else a Forbidden
// error with the code key_type_not_allowed, or outside_scope where only the caller's scope
// stands against it.
func (c Caller) May(o Operation) error {
	switch access, _ := o.Access(c.KeyType); {
	case access == Allowed && ofWholeTenant[o] && c.Scope.SubTenant() != nil:
		return domain.Fail(domain.Forbidden, "outside_scope", "Only records of one sub-tenant are within reach, and this concerns the tenant as a whole.")
	case access == Allowed:
		return nil
	case access == TenantsChoice && o == CreateTrigger && c.Settings.PublicTriggers() == PublicTriggersLimited:
		return nil
	case c.KeyType == Public:
		return domain.Fail(domain.Forbidden, "key_type_not_allowed",
			"A public key (pk_) may not do this. Use a secret key (sk_), on your servers only.")
	default:
		return domain.Fail(domain.Forbidden, "key_type_not_allowed", "A %s key may not do this.", c.KeyType)
	}
}
