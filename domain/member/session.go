package member

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain/tenant"
)

// How long a session lasts.
const (
	SessionIdle = 12 * time.Hour     // since it was last used
	SessionLife = 7 * 24 * time.Hour // in any case
)

// EndedRetention is how long a session or a link is kept that has ended: for as much as the clocks of gateways may differ.
const EndedRetention = time.Hour

// UsedResolution is how exactly the use of a session is noted.
const UsedResolution = time.Minute

// MaxSessions is how many sessions a user has at once. The one that was not used for the longest time makes room.
const MaxSessions = 50

// maxAgent bounds what is kept of how a browser names itself, in bytes.
const maxAgent = 255

// SessionID identifies a session: "ses_" and 26 base32 characters. It is no secret.
type SessionID string

// Session is a user who is signed in with a browser.
type Session struct{ state SessionState }

// SessionState is everything a store keeps of a session.
type SessionState struct {
	ID         SessionID
	User       tenant.UserID
	Hash       TokenHash
	Agent      string // what the browser calls itself
	Address    string // from which the user signed in
	CreatedAt  time.Time
	LastUsedAt time.Time
}

// Browser is what is known of who signs in.
type Browser struct {
	Agent, Address string
	Language       tenant.Language // that it prefers, of those that there are; empty where nobody knows
	Session        Token           // of which it has a cookie already, if it has
}

// NewSession signs a user in.
func NewSession(id SessionID, user tenant.UserID, token Token, from Browser, now time.Time) *Session {
	agent := strings.ToValidUTF8(strings.ReplaceAll(from.Agent, "\x00", ""), "")
	for len(agent) > maxAgent {
		_, size := utf8.DecodeLastRuneInString(agent[:maxAgent+1])
		agent = agent[:maxAgent+1-size]
	}
	return &Session{SessionState{ID: id, User: user, Hash: token.Hash(), Agent: agent, Address: from.Address, CreatedAt: now, LastUsedAt: now}}
}

// RestoreSession rebuilds a session from what a store kept.
func RestoreSession(s SessionState) *Session { return &Session{s} }

// State returns what a store has to keep.
func (s *Session) State() SessionState { return s.state }

// ID identifies the session.
func (s *Session) ID() SessionID { return s.state.ID }

// User is who is signed in.
func (s *Session) User() tenant.UserID { return s.state.User }

// EndsAt is when the session ends if nobody uses it any more.
func (s *Session) EndsAt() time.Time {
	ends := s.state.LastUsedAt.Add(SessionIdle)
	if last := s.state.CreatedAt.Add(SessionLife); last.Before(ends) {
		return last
	}
	return ends
}

// IsLive says whether the session has not ended.
func (s *Session) IsLive(now time.Time) bool { return now.Before(s.EndsAt()) }

// NeedsNote says whether a use at the time is to be noted.
func (s *Session) NeedsNote(now time.Time) bool {
	return now.Sub(s.state.LastUsedAt) >= UsedResolution
}
