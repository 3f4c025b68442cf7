package domain

import "time"

// maxRetired is how many secrets may sign besides the current one: rotating more often
// within an overlap drops the oldest.
const maxRetired = 4

// SigningSecrets is the secret that signs, with those before it that go on signing for
// a while, so that receivers can change over without refusing a message.
type SigningSecrets struct {
	Current SigningSecret
	Retired []RetiredSecret // the newest first; some may have ended
}

// RetiredSecret is a secret that a newer one replaced.
type RetiredSecret struct {
	Secret SigningSecret
	Until  time.Time // it signs before this time
}

// Rotated returns the secrets after fresh has replaced the current one, which goes on
// signing for the overlap. Those that sign no more are left out.
func (s SigningSecrets) Rotated(fresh SigningSecret, overlap time.Duration, now time.Time) SigningSecrets {
	next := SigningSecrets{Current: fresh}
	if overlap > 0 && s.Current != (SigningSecret{}) {
		next.Retired = append(next.Retired, RetiredSecret{Secret: s.Current, Until: now.Add(overlap)})
	}
	for _, r := range s.Retired {
		if now.Before(r.Until) && len(next.Retired) < maxRetired {
			next.Retired = append(next.Retired, r)
		}
	}
	return next
}

// At are the secrets that sign at a time, the current one first; none of those that are not known.
func (s SigningSecrets) At(at time.Time) []SigningSecret {
	var all []SigningSecret
	if s.Current != (SigningSecret{}) {
		all = append(all, s.Current)
	}
	for _, r := range s.Retired {
		if at.Before(r.Until) {
			all = append(all, r.Secret)
		}
	}
	return all
}
