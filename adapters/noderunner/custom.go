package noderunner

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// timeLayout is how the gateway writes times.
const timeLayout = "2006-01-02T15:04:05.000Z"

// runBody is what a custom node's endpoint is sent to run the node.
type runBody struct {
	Type    string     `json:"type"` // "run"
	Payload runPayload `json:"payload"`
}

type runPayload struct {
	NodeType  node.Type      `json:"nodeType"`
	RunID     string         `json:"runId"`
	TenantID  tenant.ID      `json:"tenantId"`
	SubTenant string         `json:"subTenantId,omitempty"`
	EntityID  string         `json:"entityId"`
	Inputs    any            `json:"inputs"`
	Config    map[string]any `json:"config"`
	Metadata  runMetadata    `json:"metadata"`
}

type runMetadata struct {
	Timestamp string `json:"timestamp"` // of this attempt
	Version   string `json:"version"`   // of the node type
	NodeID    string `json:"nodeId"`
	Attempt   int    `json:"attempt"`
}

// runCustom calls the endpoint of a custom node.
func (r *Runner) runCustom(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	now := r.clock.Now()
	config := call.Config
	if config == nil {
		config = map[string]any{}
	}
	made := message{
		endpoint: call.Endpoint, secrets: call.Secrets, idempotencyKey: call.IdempotencyKey, at: now,
		content: runBody{Type: "run", Payload: runPayload{
			NodeType: call.Type, RunID: call.RunID, TenantID: call.Tenant, SubTenant: call.SubTenant, EntityID: call.EntityID,
			Inputs: call.Inputs, Config: config,
			Metadata: runMetadata{Timestamp: now.Format(timeLayout), Version: call.Version, NodeID: call.NodeID, Attempt: call.Attempt},
		}},
	}
	req, failure, err := r.build(ctx, made)
	if err != nil {
		return nil, err
	}
	var got *answer
	if failure == nil {
		got, failure, err = exchange(ctx, r.caller(call.Credential, false), req, cmp.Or(call.Timeout, outbound.DefaultNodeTimeout), call.ReserveMemory)
	}
	switch {
	case err != nil:
		return nil, err
	case failure != nil:
		return *failure, nil
	}
	got.redact(call.Credential.Redactor())
	return markRedacted(r.readAnswer(shown(req.URL), got, call.CanPause), got.redacted), nil
}

// message is what is sent to an endpoint of custom nodes.
type message struct {
	endpoint       string
	secrets        []domain.SigningSecret
	idempotencyKey string // empty for what has no effect
	at             time.Time
	content        any
}

// build makes the signed request. A failure says what the tenant has to set up.
func (r *Runner) build(ctx context.Context, m message) (*http.Request, *outbound.NodeFailed, error) {
	if m.endpoint == "" {
		f := failed("endpoint_missing", "Neither the custom node nor the tenant's settings name an endpoint to call.")
		return nil, &f, nil
	}
	if len(m.secrets) == 0 {
		f := failed("secret_missing", "There is no secret to sign calls of custom nodes with. Make one with POST /v1/gateway/custom-nodes/secret/rotate.")
		return nil, &f, nil
	}
	if !isAbsolute(m.endpoint) {
		f := failed("endpoint_missing", "The endpoint is not an absolute http or https URL.")
		return nil, &f, nil
	}
	body, err := encode(m.content)
	if err != nil {
		return nil, nil, fmt.Errorf("noderunner: encode the call: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("noderunner: build the call: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	setDefault(req.Header, "User-Agent", r.userAgent)
	setDefault(req.Header, "Idempotency-Key", headerSafe(m.idempotencyKey))
	sign(req.Header, m.secrets, messageID(m, body), m.at, body)
	return req, nil, nil
}

func isAbsolute(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != ""
}

// messageID identifies the message to its receiver: the same for every attempt of a
// node, since it is the same message. It is a digest because the ids of nodes are the
// client's and may hold the full stop that separates what is signed.
func messageID(m message, body []byte) string {
	digest := sha256.Sum256([]byte(cmp.Or(m.idempotencyKey, string(body))))
	return "msg_" + hex.EncodeToString(digest[:16])
}

// heartbeatBody is what an endpoint is sent to learn whether it lives.
type heartbeatBody struct {
	Type      string    `json:"type"` // "heartbeat"
	TenantID  tenant.ID `json:"tenantId"`
	Timestamp string    `json:"timestamp"`
}

// Health calls the endpoint with a heartbeat. It is healthy when it answers 2xx and
// does not say {"success": false}.
func (r *Runner) Health(ctx context.Context, check outbound.HealthCheck) (outbound.NodeHealth, error) {
	if ctx.Err() != nil {
		return outbound.NodeHealth{}, stopped(ctx)
	}
	started := r.clock.Now()
	made := message{
		endpoint: check.Endpoint, secrets: check.Secrets, at: started,
		content: heartbeatBody{Type: "heartbeat", TenantID: check.Tenant, Timestamp: started.Format(timeLayout)},
	}
	req, failure, err := r.build(ctx, made)
	if err != nil {
		return outbound.NodeHealth{}, err
	}
	var got *answer
	if failure == nil {
		got, failure, err = exchange(ctx, r.stay, req, cmp.Or(check.Timeout, outbound.DefaultNodeTimeout), nil)
	}
	if err != nil {
		return outbound.NodeHealth{}, err
	}
	health := outbound.NodeHealth{Latency: r.clock.Now().Sub(started)}
	if got != nil {
		health.Status = got.status
		failure = r.readHeartbeat(shown(req.URL), got)
	}
	if failure == nil {
		health.Healthy = true
		return health, nil
	}
	health.Code, health.Message = failure.Code, failure.Message
	return health, nil
}
