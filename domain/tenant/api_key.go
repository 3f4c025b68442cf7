package tenant

import (
	"time"

	"github.com/sluicehq/sluice/domain"
)

// KeyID identifies an API key: "key_" and 26 base32 characters. It is no secret.
type KeyID string

// UsedResolution is how exactly the last use of a key is kept, so that a busy key
// does not cause a write for each request.
const UsedResolution = time.Minute

// MaxGrace bounds how long a rotated key or secret may go on.
const MaxGrace = 24 * time.Hour

// APIKey is a key of a tenant without its text. Build one with [NewAPIKey] or
// [RestoreAPIKey].
type APIKey struct{ state KeyState }

// KeyState is everything a store keeps of a key.
type KeyState struct {
	ID         KeyID
	Tenant     ID
	Type       KeyType
	Name       string
	Hash       KeyHash `fact:"-"`
	LastFour   string
	CreatedAt  time.Time
	LastUsedAt *time.Time `fact:"-"`
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	Successor  KeyID     // that took its place when it was rotated; empty for none
	Narrowing  Narrowing `fact:"+"` // to a part of the tenant
	Revision   int64
}

// KeyDraft is a public or secret key as its maker asks for it.
type KeyDraft struct {
	Type      KeyType
	Name      string             // at most 255 characters; none is fine
	ExpiresAt *time.Time         // nil for never
	Narrowing Narrowing          // of which a key takes SubTenant and Rights
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

// NewAPIKey records a key of the tenant. Every violation is reported at once, with
// the code api_key_invalid.
func NewAPIKey(id KeyID, owner ID, d KeyDraft, text KeyText, now time.Time) (*APIKey, error) {
	var r domain.Rules
	r.Add(d.Malformed...)
	r.Check(d.Type != "", "type", domain.Required, "must be %s", domain.OneOf(KeyTypes()...))
	r.Check(d.Type.IsLasting(), "type", domain.NotAllowed, "must be %s, not %q", domain.OneOf(KeyTypes()...), string(d.Type))
	r.Text(d.Name, "name", 0, MaxName)
	d.Narrowing.check(&r)
	r.Check(d.Narrowing.Rights == nil || len(d.Narrowing.Rights) > 0, "permissions", domain.TooShort, "must have at least one item; leave it out for all that a %s key may do", string(d.Type))
	r.Check(d.ExpiresAt == nil || d.ExpiresAt.After(now), "expiresAt", domain.TooSmall, "must be in the future")
	if err := r.Err("api_key_invalid", "The API key is not valid."); err != nil {
		return nil, err
	}
	return &APIKey{KeyState{
		ID: id, Tenant: owner, Type: text.Type(), Name: d.Name, Hash: text.Hash(), LastFour: text.LastFour(),
		Narrowing: d.Narrowing.complete(), CreatedAt: now, ExpiresAt: domain.CopyOf(d.ExpiresAt), Revision: 1,
	}}, nil
}

// RestoreAPIKey rebuilds a key from what a store kept, without applying any rule.
func RestoreAPIKey(s KeyState) *APIKey { return &APIKey{s.clone()} }

// Facts are what the audit log says of it.
func (k *APIKey) Facts() domain.Facts { return domain.FactsOf(k.state) }

// State returns what a store has to keep.
func (k *APIKey) State() KeyState { return k.state.clone() }

// ID identifies the key.
func (k *APIKey) ID() KeyID { return k.state.ID }

// Tenant owns the key.
func (k *APIKey) Tenant() ID { return k.state.Tenant }

// Type says what the key is for.
func (k *APIKey) Type() KeyType { return k.state.Type }

// Name is for people.
func (k *APIKey) Name() string { return k.state.Name }

// LastFour are the last four characters of the text.
func (k *APIKey) LastFour() string { return k.state.LastFour }

// CreatedAt is when the key was made.
func (k *APIKey) CreatedAt() time.Time { return k.state.CreatedAt }

// LastUsedAt is when the key was last accepted, to the minute; nil for never.
func (k *APIKey) LastUsedAt() *time.Time { return domain.CopyOf(k.state.LastUsedAt) }

// ExpiresAt is from when the key is refused; nil for never.
func (k *APIKey) ExpiresAt() *time.Time { return domain.CopyOf(k.state.ExpiresAt) }

// RevokedAt is when the key was revoked; nil when it was not.
func (k *APIKey) RevokedAt() *time.Time { return domain.CopyOf(k.state.RevokedAt) }

// Narrowing is what limits the key to a part of its tenant. Callers only read it.
func (k *APIKey) Narrowing() Narrowing { return k.state.Narrowing }

// IsNarrowed says whether the key is limited to a part of its tenant, as every embed token is.
func (k *APIKey) IsNarrowed() bool { return k.state.Type == Embed || k.state.Narrowing.limits() }

// Revision counts the key's changes.
func (k *APIKey) Revision() int64 { return k.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (k *APIKey) Saved() { k.state.Revision++ }

// Usable says whether the key is accepted at the time.
func (k *APIKey) Usable(now time.Time) bool {
	return k.state.RevokedAt == nil && (k.state.ExpiresAt == nil || now.Before(*k.state.ExpiresAt))
}

// Revoke ends the key now. A revoked key stays as it is.
func (k *APIKey) Revoke(now time.Time) {
	if k.state.RevokedAt == nil {
		k.state.RevokedAt = &now
	}
}

// Retire replaces the key by a successor and ends it after a grace of 0 to [MaxGrace]. A key
// that ends earlier keeps its end. The error is Invalid with the code api_key_invalid, or a
// Conflict api_key_not_active for a key that has ended or has a successor.
func (k *APIKey) Retire(successor KeyID, grace time.Duration, now time.Time) error {
	switch {
	case !k.Usable(now):
		return domain.Fail(domain.Conflict, "api_key_not_active", "The API key has ended and cannot be rotated. Create a new one.")
	case k.state.Successor != "":
		return domain.Fail(domain.Conflict, "api_key_not_active",
			"The API key was rotated already and is accepted for the rest of its grace only. Rotate its successor, %s.", k.state.Successor)
	}
	var r domain.Rules
	checkGrace(&r, grace)
	if err := r.Err("api_key_invalid", "The API key cannot be rotated like that."); err != nil {
		return err
	}
	k.state.Successor = successor
	if grace == 0 {
		k.Revoke(now)
		return nil
	}
	if end := now.Add(grace); k.state.ExpiresAt == nil || end.Before(*k.state.ExpiresAt) {
		k.state.ExpiresAt = &end
	}
	return nil
}

// checkGrace checks how long what is replaced may go on.
func checkGrace(r *domain.Rules, grace time.Duration) {
	const field = "graceSeconds"
	r.Check(grace >= 0, field, domain.TooSmall, "must be at least 0, not %d", int64(grace/time.Second))
	r.Check(grace <= MaxGrace, field, domain.TooLarge, "must be at most %d, not %d", int64(MaxGrace/time.Second), int64(grace/time.Second))
}

// RecentlyUsed says whether a use at the time need not be recorded, because one less than
// [UsedResolution] before was.
func (k *APIKey) RecentlyUsed(at time.Time) bool {
	return k.state.LastUsedAt != nil && at.Sub(*k.state.LastUsedAt) < UsedResolution
}

func (s KeyState) clone() KeyState {
	s.Narrowing = s.Narrowing.clone()
	s.LastUsedAt, s.ExpiresAt, s.RevokedAt = domain.CopyOf(s.LastUsedAt), domain.CopyOf(s.ExpiresAt), domain.CopyOf(s.RevokedAt)
	return s
}
