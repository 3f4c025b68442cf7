package tenant

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// NodeSecretOverlap is how long a replaced secret goes on signing calls of custom nodes
// unless the rotation says otherwise: as long as for webhooks.
const NodeSecretOverlap = 24 * time.Hour

// NodeSecret signs the calls of a tenant's custom nodes, together with those that it
// replaced. A tenant has none until one is needed. Build one with
// [NewNodeSecret] or [RestoreNodeSecret].
type NodeSecret struct{ state NodeSecretState }

// NodeSecretState is everything a store keeps of a node secret.
type NodeSecretState struct {
	Tenant    ID
	Secrets   domain.SigningSecrets
	CreatedAt time.Time // of the current one
	Revision  int64     // 1 at first; a store raises it with every update and refuses a stale one
}

// NewNodeSecret makes the first secret of a tenant.
func NewNodeSecret(owner ID, fresh domain.SigningSecret, now time.Time) *NodeSecret {
	return &NodeSecret{NodeSecretState{Tenant: owner, Secrets: domain.SigningSecrets{Current: fresh}, CreatedAt: now, Revision: 1}}
}

// RestoreNodeSecret rebuilds a node secret from what a store kept, without applying any
// rule.
func RestoreNodeSecret(s NodeSecretState) *NodeSecret { return &NodeSecret{s.clone()} }

// Facts are what the audit log says of it.
func (n *NodeSecret) Facts() domain.Facts {
	return domain.Facts{"secret": domain.HiddenFact(n.state.Secrets.Current.Reveal())}
}

// State returns what a store has to keep.
func (n *NodeSecret) State() NodeSecretState { return n.state.clone() }

// Rotate makes fresh sign from now on; the one before it goes on signing for the overlap,
// 0 to [MaxGrace], else the error is Invalid with the code node_secret_invalid. With an
// overlap of 0 only fresh signs: the old ones may have leaked.
func (n *NodeSecret) Rotate(fresh domain.SigningSecret, overlap time.Duration, now time.Time) error {
	var r domain.Rules
	checkGrace(&r, overlap)
	if err := r.Err("node_secret_invalid", "The node secret cannot be rotated like that."); err != nil {
		return err
	}
	if overlap == 0 {
		n.state.Secrets.Retired = nil
	}
	n.state.Secrets, n.state.CreatedAt = n.state.Secrets.Rotated(fresh, overlap, now), now
	return nil
}

// Tenant owns the secret.
func (n *NodeSecret) Tenant() ID { return n.state.Tenant }

// Current is the secret that signs without an end.
func (n *NodeSecret) Current() domain.SigningSecret { return n.state.Secrets.Current }

// Signing are the secrets that sign at a time, the current one first.
func (n *NodeSecret) Signing(at time.Time) []domain.SigningSecret { return n.state.Secrets.At(at) }

// Previous are those that sign at a time besides the current one, the newest first.
func (n *NodeSecret) Previous(at time.Time) []domain.RetiredSecret {
	ended := func(r domain.RetiredSecret) bool { return !at.Before(r.Until) }
	return slices.DeleteFunc(slices.Clone(n.state.Secrets.Retired), ended)
}

// CreatedAt is when the current secret was made.
func (n *NodeSecret) CreatedAt() time.Time { return n.state.CreatedAt }

// Revision counts the changes.
func (n *NodeSecret) Revision() int64 { return n.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (n *NodeSecret) Saved() { n.state.Revision++ }

func (s NodeSecretState) clone() NodeSecretState {
	s.Secrets.Retired = slices.Clone(s.Secrets.Retired)
	return s
}
