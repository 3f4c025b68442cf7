package tenant

import (
	"time"

	"github.com/sluicehq/sluice/domain"
)

// How long an embed token lives.
const (
	MinTokenLife     = time.Minute
	MaxTokenLife     = 24 * time.Hour
	DefaultTokenLife = 15 * time.Minute
)

// TokenRetention is how long an embed token is listed after its end.
const TokenRetention = 24 * time.Hour

// EmbedTokenDraft is an embed token as a tenant asks for it: a key of the type [Embed] for
// a page that shows a part of the gateway to the tenant's own customers.
type EmbedTokenDraft struct {
	Narrowing                    // of which SubTenant is required, and either Rights or a preset
	Preset    *Preset            // what its rights are; nil where Rights says it
	Life      *time.Duration     // MinTokenLife to MaxTokenLife, in whole seconds; nil for DefaultTokenLife
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

// NewEmbedToken records a token of the tenant. Every violation is reported at once, with
// the code embed_token_invalid.
func NewEmbedToken(id KeyID, owner ID, d EmbedTokenDraft, text KeyText, now time.Time) (*APIKey, error) {
	var r domain.Rules
	r.Add(d.Malformed...)
	r.Check(d.SubTenant != nil, "subTenantId", domain.Required, "must say to which sub-tenant the token belongs")
	rights := d.Rights
	if d.Preset != nil {
		r.Check(rights == nil, "permissions", domain.Conflicting, "must be left out where preset is given")
		rights = d.Preset.Rights()
		r.Check(rights != nil, "preset", domain.NotAllowed, "must be %s, not %q", domain.OneOf(Presets()...), string(*d.Preset))
	} else {
		r.Check(len(rights) > 0, "permissions", domain.Required, "must have at least one item, or preset must be %s", domain.OneOf(Presets()...))
	}
	d.check(&r)
	life := DefaultTokenLife
	if d.Life != nil {
		life = *d.Life
		r.Check(life >= MinTokenLife, "expiresInSeconds", domain.TooSmall, "must be at least %d, not %d", int64(MinTokenLife/time.Second), int64(life/time.Second))
		r.Check(life <= MaxTokenLife, "expiresInSeconds", domain.TooLarge, "must be at most %d, not %d", int64(MaxTokenLife/time.Second), int64(life/time.Second))
	}
	if err := r.Err("embed_token_invalid", "The embed token is not valid."); err != nil {
		return nil, err
	}
	narrowing := d.Narrowing
	narrowing.Rights = rights
	end := now.Add(life)
	return &APIKey{KeyState{
		ID: id, Tenant: owner, Type: Embed, Hash: text.Hash(), LastFour: text.LastFour(),
		Narrowing: narrowing.complete(), CreatedAt: now, ExpiresAt: &end, Revision: 1,
	}}, nil
}

// EmbedTokenFilter narrows a list of embed tokens, and says which are revoked together; the
// zero value takes all of them.
type EmbedTokenFilter struct {
	SubTenant *SubTenantID
	Subject   *string
}
