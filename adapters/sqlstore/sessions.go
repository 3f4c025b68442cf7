package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type sessions struct{ *unit }

var _ outbound.SessionRepository = sessions{}

// sessionColumns are those of a session, under names that no column of a user has.
const sessionColumns = `s.id AS session_id, s.user_id, s.hash, s.agent, s.address, s.created_at AS begun_at, s.last_used_at`

type sessionRow struct {
	ID         string    `db:"session_id"`
	User       string    `db:"user_id"`
	Hash       []byte    `db:"hash"`
	Agent      string    `db:"agent"`
	Address    string    `db:"address"`
	CreatedAt  time.Time `db:"begun_at"`
	LastUsedAt time.Time `db:"last_used_at"`
}

func (row sessionRow) restore() (*member.Session, error) {
	st := member.SessionState{
		ID: member.SessionID(row.ID), User: tenant.UserID(row.User), Agent: row.Agent, Address: row.Address,
		CreatedAt: row.CreatedAt.UTC(), LastUsedAt: row.LastUsedAt.UTC(),
	}
	if copy(st.Hash[:], row.Hash) != len(st.Hash) {
		return nil, fmt.Errorf("session %s: the stored hash has %d bytes", row.ID, len(row.Hash))
	}
	return member.RestoreSession(st), nil
}

// Insert adds a session.
func (s sessions) Insert(ctx context.Context, one *member.Session) error {
	st := one.State()
	_, err := s.Exec(ctx, "remove sessions that are used least", `DELETE FROM console_sessions WHERE user_id = $1 AND id NOT IN
		(SELECT id FROM console_sessions WHERE user_id = $1 ORDER BY last_used_at DESC, id DESC LIMIT $2)`, string(st.User), member.MaxSessions-1)
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, "insert session", `INSERT INTO console_sessions (user_id, id, hash, agent, address, created_at, last_used_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, string(st.User), string(st.ID), st.Hash[:], st.Agent, st.Address, st.CreatedAt, st.LastUsedAt)
	return err
}

const sessionNotFound, sessionNotFoundMessage = "session_not_found", "There is no such session."

// Find reads a session with its user.
func (s sessions) Find(ctx context.Context, hash member.TokenHash) (outbound.SignedIn, error) {
	var row struct {
		userRow
		sessionRow
	}
	err := s.ReadRow(ctx, "find session", &row, `SELECT `+sessionColumns+`, `+userColumns+`
		FROM console_sessions s JOIN users u ON u.id = s.user_id WHERE s.hash = $1`, hash[:])
	if err != nil {
		return outbound.SignedIn{}, core.NotFound(err, sessionNotFound, sessionNotFoundMessage)
	}
	one, err := row.sessionRow.restore()
	return outbound.SignedIn{Session: one, User: row.userRow.restore()}, err
}

// List reads the sessions of a user.
func (s sessions) List(ctx context.Context, user tenant.UserID) ([]*member.Session, error) {
	var rows []sessionRow
	err := s.ReadRows(ctx, "list sessions", &rows, `SELECT `+sessionColumns+` FROM console_sessions s
		WHERE s.user_id = $1 ORDER BY s.last_used_at DESC, s.id DESC`, string(user))
	if err != nil {
		return nil, err
	}
	all := make([]*member.Session, 0, len(rows))
	for _, row := range rows {
		one, err := row.restore()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// Touch notes a use.
func (s sessions) Touch(ctx context.Context, user tenant.UserID, id member.SessionID, at time.Time) error {
	_, err := s.Exec(ctx, "note use of session", `UPDATE console_sessions SET last_used_at = $1 WHERE user_id = $2 AND id = $3 AND last_used_at < $1`, at, string(user), string(id))
	return err
}

// Delete ends a session.
func (s sessions) Delete(ctx context.Context, user tenant.UserID, id member.SessionID) error {
	n, err := s.Exec(ctx, "end session", `DELETE FROM console_sessions WHERE user_id = $1 AND id = $2`, string(user), string(id))
	return s.CheckDeleted(n, err, sessionNotFound, sessionNotFoundMessage)
}

// DeleteOthers ends all sessions of a user but one.
func (s sessions) DeleteOthers(ctx context.Context, user tenant.UserID, but member.SessionID) error {
	_, err := s.Exec(ctx, "end sessions", `DELETE FROM console_sessions WHERE user_id = $1 AND id <> $2`, string(user), string(but))
	return err
}

// Sweep removes sessions that nobody used for too long, and those that began too long ago.
func (s sessions) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep sessions", `DELETE FROM console_sessions WHERE (user_id, id) IN (
		SELECT user_id, id FROM console_sessions WHERE last_used_at < $1 OR created_at < $2 ORDER BY last_used_at LIMIT $3)`,
		before.Add(-member.SessionIdle), before.Add(-member.SessionLife), limit)
	return int(n), err
}
