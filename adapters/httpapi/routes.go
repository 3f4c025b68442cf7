package httpapi

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/tenant"
)

// prefix begins the path of every operation of this version of the API.
const prefix = "/v1/gateway"

// route is one operation of the API.
type route struct {
	method    string
	path      string
	operation tenant.Operation
	handle    exchange.Handler
}

// routes is the whole API behind the keys.
func (a *API) routes() []route {
	const get, post, patch, remove = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	all := []route{
		{get, "/workflows", tenant.ReadWorkflows, a.listWorkflows},
		{post, "/workflows", tenant.CreateWorkflow, a.createWorkflow},
		{get, "/workflows/:id", tenant.ReadWorkflows, a.getWorkflow},
		{patch, "/workflows/:id", tenant.ChangeWorkflow, a.updateWorkflow},
		{remove, "/workflows/:id", tenant.DeleteWorkflow, a.deleteWorkflow},
		{patch, "/workflows/:id/toggle-status", tenant.ChangeWorkflow, a.toggleWorkflow},
		{post, "/workflows/:id/rollback", tenant.RollbackWorkflow, a.rollbackWorkflow},
		{get, "/workflows/:id/versions", tenant.ReadVersions, a.listVersionsOfWorkflow},
		{get, "/workflows/versions/:versionId", tenant.ReadVersions, a.getVersion},

		{get, "/workflow-versions", tenant.ReadVersions, a.listVersions},
		{post, "/workflow-versions", tenant.CreateVersion, a.createVersion},
		{get, "/workflow-versions/:id", tenant.ReadVersions, a.getVersion},
		{patch, "/workflow-versions/:id", tenant.ChangeVersion, a.updateVersion},
		{remove, "/workflow-versions/:id", tenant.DeleteVersion, a.deleteVersion},
		{post, "/workflow-versions/:id/publish", tenant.PublishVersion, a.publishVersion},
		{post, "/workflow-versions/:id/validate", tenant.ValidateVersion, a.validateVersion},
		{post, "/workflow-versions/:id/complete", tenant.CompleteVersion, a.completeVersion},

		{get, "/triggers", tenant.ReadTriggers, a.listTriggers},
		{post, "/triggers", tenant.CreateTrigger, a.createTrigger},
		{get, "/triggers/:id", tenant.ReadTriggers, a.getTrigger},
		{patch, "/triggers/:id", tenant.ChangeTrigger, a.updateTrigger},
		{remove, "/triggers/:id", tenant.DeleteTrigger, a.deleteTrigger},
		{get, "/triggers/workflow-version/:versionId", tenant.ReadTriggers, a.listTriggersOfVersion},
		{post, "/triggers/preview", tenant.PreviewSchedule, a.previewSchedule},
		{get, "/triggers/:id/preview", tenant.ReadTriggers, a.previewTrigger},
		{get, "/triggers/:id/fires", tenant.ReadTriggers, a.listFires},

		{get, "/sub-tenants", tenant.ReadSubTenants, a.listSubTenants},
		{post, "/sub-tenants", tenant.CreateSubTenant, a.createSubTenant},
		{get, "/sub-tenants/combined", tenant.ReadSubTenants, a.listCombinedSubTenants},
		{get, "/sub-tenants/by-id/:subTenantId", tenant.ReadSubTenants, a.findSubTenant},
		{get, "/sub-tenants/:id", tenant.ReadSubTenants, a.getSubTenant},
		{patch, "/sub-tenants/:id", tenant.ChangeSubTenant, a.updateSubTenant},
		{remove, "/sub-tenants/:id", tenant.DeleteSubTenant, a.deleteSubTenant},
	}
	all = append(all, a.keyRoutes()...)
	all = append(all, a.nodeRoutes()...)
	all = append(all, a.hookRoutes()...)
	all = append(all, a.webhookRoutes()...)
	all = append(all, a.connectionRoutes()...)
	all = append(all, a.runRoutes()...)
	for i := range all {
		all[i].path = prefix + all[i].path
	}
	return all
}

// keyRoutes is what can be done with keys, embed tokens and settings.
func (a *API) keyRoutes() []route {
	const get, post, patch, remove = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	return []route{
		{get, "/api-keys", tenant.ReadKeys, a.listKeys},
		{post, "/api-keys", tenant.CreateKey, a.createKey},
		{get, "/api-keys/:id", tenant.ReadKeys, a.getKey},
		{remove, "/api-keys/:id", tenant.RevokeKey, a.revokeKey("id")},
		{post, "/api-keys/:id/rotate", tenant.RotateKey, a.rotateKey("id")},

		{get, "/embed-tokens", tenant.ReadEmbedTokens, a.listEmbedTokens},
		{post, "/embed-tokens", tenant.CreateEmbedToken, a.createEmbedToken},
		{remove, "/embed-tokens", tenant.RevokeEmbedTokens, a.revokeEmbedTokens},
		{remove, "/embed-tokens/:id", tenant.RevokeEmbedTokens, a.revokeEmbedToken},

		{get, "/settings", tenant.ReadSettings, a.getSettings},
		{patch, "/settings", tenant.ChangeSettings, a.updateSettings},

		{get, "/audit-log", tenant.ReadAuditLog, a.listAudit},
		{get, "/audit-log/export", tenant.ReadAuditLog, a.exportAudit},
		{get, "/usage", tenant.ReadUsage, a.getUsage},
	}
}

// nodeRoutes is what can be done with templates and node types, and with what signs the calls of
// those that tenants define.
func (a *API) nodeRoutes() []route {
	const get, post, patch, remove = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	return []route{
		{get, "/templates", tenant.ReadTemplates, a.listTemplates},
		{get, "/templates/:id", tenant.ReadTemplates, a.getTemplate},
		{get, "/custom-nodes/registry", tenant.ReadNodeRegistry, a.nodeRegistry},
		{get, "/custom-nodes", tenant.ReadCustomNodes, a.listCustomNodes},
		{post, "/custom-nodes", tenant.CreateCustomNode, a.createCustomNode},
		{get, "/custom-nodes/:id", tenant.ReadCustomNodes, a.getCustomNode},
		{patch, "/custom-nodes/:id", tenant.ChangeCustomNode, a.updateCustomNode},
		{remove, "/custom-nodes/:id", tenant.DeleteCustomNode, a.deleteCustomNode},
		{post, "/custom-nodes/:id/check", tenant.CheckCustomNode, a.checkCustomNode},
		{get, "/custom-nodes/secret", tenant.ReadNodeSecret, a.getNodeSecret},
		{post, "/custom-nodes/secret/rotate", tenant.RotateNodeSecret, a.rotateNodeSecret},
	}
}

// runRoutes is what starts runs, and what can be done with them.
func (a *API) runRoutes() []route {
	const get, post, remove = http.MethodGet, http.MethodPost, http.MethodDelete
	return []route{
		{post, "/triggers/:id/webhook", tenant.FireTrigger, a.callTrigger},
		{post, "/triggers/webhook/by-event", tenant.FireTrigger, a.fireByEvent},
		{post, "/triggers/ingest", tenant.FireTrigger, a.ingestEvent},
		{post, "/triggers/resume", tenant.ResumeRun, a.resumeRun},
		{post, "/workflows/:id/runs", tenant.StartRun, a.startRun},
		{post, "/workflow-versions/:id/runs", tenant.StartVersionRun, a.startVersionRun},
		{post, "/workflow-versions/:id/simulate", tenant.SimulateVersion, a.simulateVersion},
		{post, "/workflow-versions/:id/nodes/:nodeId/test", tenant.TestNode, a.testNode},
		{get, "/pauses", tenant.ReadPauses, a.listPauses},
		{post, "/pauses/:id/answer", tenant.AnswerPause, a.answerPause},

		{get, "/runs", tenant.ReadRuns, a.listRuns},
		{get, "/runs/:id", tenant.ReadRuns, a.getRun},
		{remove, "/runs/:id", tenant.DeleteRun, a.deleteRun},
		{get, "/runs/:id/stream", tenant.FollowRun, a.streamRun},
		{get, "/stream", tenant.FollowLists, a.streamLists},
		{post, "/runs/:id/cancel", tenant.CancelRun, a.cancelRun},
		{post, "/runs/:id/retry", tenant.RetryRun, a.retryRun},
		{post, "/runs/:id/rerun", tenant.RerunRun, a.rerunRun},
		{post, "/runs/bulk", tenant.StartJob, a.startJob},
		{get, "/jobs", tenant.ReadJobs, a.listJobs},
		{get, "/jobs/:id", tenant.ReadJobs, a.getJob},
		{post, "/jobs/:id/cancel", tenant.CancelJob, a.cancelJob},
		{post, "/erasures", tenant.Erase, a.startErasure},
	}
}

// hookRoutes is what can be done with the hooks of triggers, and with what they have received.
func (a *API) hookRoutes() []route {
	const get, post, patch, remove = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	return []route{
		{post, "/triggers/:id/hook", tenant.CreateHook, a.createHook},
		{get, "/triggers/:id/hook", tenant.ReadHook, a.getHook},
		{patch, "/triggers/:id/hook", tenant.ChangeHook, a.updateHook},
		{remove, "/triggers/:id/hook", tenant.DeleteHook, a.deleteHook},
		{post, "/triggers/:id/hook/rotate", tenant.RotateHook, a.rotateHook},
		{post, "/triggers/:id/hook/test", tenant.TestHook, a.testHook},
		{get, "/triggers/:id/hook/deliveries", tenant.ReadHook, a.listReceived},
		{post, "/triggers/:id/hook/deliveries/replay", tenant.ReplayDelivery, a.replayAllReceived},
		{get, "/triggers/:id/hook/deliveries/:deliveryId", tenant.ReadHook, a.getReceived},
		{post, "/triggers/:id/hook/deliveries/:deliveryId/replay", tenant.ReplayDelivery, a.replayReceived},
	}
}

// webhookRoutes is what can be done with webhook endpoints and deliveries.
func (a *API) webhookRoutes() []route {
	const get, post, patch, remove = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	return []route{
		{get, "/webhook-endpoints", tenant.ReadWebhookEndpoints, a.listWebhookEndpoints},
		{post, "/webhook-endpoints", tenant.CreateWebhookEndpoint, a.createWebhookEndpoint},
		{get, "/webhook-endpoints/:id", tenant.ReadWebhookEndpoints, a.getWebhookEndpoint},
		{patch, "/webhook-endpoints/:id", tenant.ChangeWebhookEndpoint, a.updateWebhookEndpoint},
		{remove, "/webhook-endpoints/:id", tenant.DeleteWebhookEndpoint, a.deleteWebhookEndpoint},
		{post, "/webhook-endpoints/:id/rotate-secret", tenant.RotateWebhookSecret, a.rotateWebhookSecret},
		{post, "/webhook-endpoints/:id/test", tenant.TestWebhookEndpoint, a.testWebhookEndpoint},
		{get, "/webhook-endpoints/:id/deliveries", tenant.ReadDeliveries, a.listDeliveries},
		{get, "/deliveries/:id", tenant.ReadDeliveries, a.getDelivery},
		{post, "/deliveries/:id/redeliver", tenant.Redeliver, a.redeliver},
	}
}

// connectionRoutes is what can be done with what workflows call with.
func (a *API) connectionRoutes() []route {
	const get, post, patch, remove = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	return []route{
		{get, "/connections", tenant.ReadConnections, a.listConnections},
		{post, "/connections", tenant.CreateConnection, a.createConnection},
		{get, "/connections/:id", tenant.ReadConnections, a.getConnection},
		{patch, "/connections/:id", tenant.ChangeConnection, a.updateConnection},
		{remove, "/connections/:id", tenant.DeleteConnection, a.deleteConnection},
		{post, "/connections/:id/test", tenant.TestConnection, a.testConnection},
		{post, "/connections/:id/authorize", tenant.AuthorizeConnection, a.authorizeConnection},
		{get, "/connections/:id/grant", tenant.ReadConnections, a.getGrant},
	}
}

// strictResources are those whose operations refuse members that they do not know, for every
// client: a misspelled one would leave a door open.
var strictResources = []string{prefix + "/api-keys", prefix + "/embed-tokens", prefix + "/settings", prefix + "/connections", prefix + "/members"}

// strictOperations do so as well: no client has ever sent them anything else.
var strictOperations = map[tenant.Operation]bool{
	tenant.CompleteVersion: true, tenant.RollbackWorkflow: true, tenant.StartVersionRun: true, tenant.RerunRun: true, tenant.StartJob: true, tenant.Erase: true, tenant.ReadJobs: true, tenant.CancelJob: true, tenant.TestNode: true,
	tenant.CreateHook: true, tenant.ChangeHook: true, tenant.RotateHook: true, tenant.TestHook: true, tenant.ReplayDelivery: true, tenant.ReadHook: true, tenant.DeleteHook: true,
}

// isRecorded says whether the audit log has an entry of what the route changes.
func (r route) isRecorded() bool {
	_, unrecorded := r.operation.Unrecorded()
	return r.method != http.MethodGet && !unrecorded
}

func (r route) isStrict() bool {
	return strictOperations[r.operation] || slices.ContainsFunc(strictResources, func(resource string) bool {
		rest, ok := strings.CutPrefix(r.path, resource)
		return ok && (rest == "" || rest[0] == '/')
	})
}

var pathParameter = regexp.MustCompile(`[:*]([A-Za-z]+)`)

// openAPIPath turns Gin's notation of a path into that of OpenAPI.
func openAPIPath(path string) string { return pathParameter.ReplaceAllString(path, "{$1}") }
