package sqlstore

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type users struct{ *unit }

var _ outbound.UserRepository = users{}

// userColumns are those of a user, of a table that is named u.
const userColumns = `u.id, u.email, u.name, u.language, u.is_operator, u.password_hash, u.issuer, u.subject, u.vouched_by, u.created_at, u.disabled_at, u.revision`

type userRow struct {
	Total        int        `db:"total"` // of a list
	ID           string     `db:"id"`
	Email        string     `db:"email"`
	Name         string     `db:"name"`
	Language     string     `db:"language"`
	IsOperator   bool       `db:"is_operator"`
	PasswordHash string     `db:"password_hash"`
	Issuer       *string    `db:"issuer"`
	Subject      *string    `db:"subject"`
	VouchedBy    string     `db:"vouched_by"`
	CreatedAt    time.Time  `db:"created_at"`
	DisabledAt   *time.Time `db:"disabled_at"`
	Revision     int64      `db:"revision"`
}

func (row userRow) restore() *member.User {
	st := member.UserState{
		ID: tenant.UserID(row.ID), Email: member.Email(row.Email), Name: row.Name, Language: tenant.Language(row.Language), IsOperator: row.IsOperator,
		PasswordHash: row.PasswordHash, VouchedBy: tenant.ID(row.VouchedBy), CreatedAt: row.CreatedAt.UTC(), DisabledAt: core.InUTC(row.DisabledAt), Revision: row.Revision,
	}
	if row.Issuer != nil && row.Subject != nil {
		st.Identity = member.Identity{Issuer: *row.Issuer, Subject: *row.Subject}
	}
	return member.RestoreUser(st)
}

// identityColumns are null for somebody without an identity.
func identityColumns(i member.Identity) (issuer, subject *string) {
	if i.IsZero() {
		return nil, nil
	}
	return &i.Issuer, &i.Subject
}

// Insert adds a user.
func (s users) Insert(ctx context.Context, u *member.User) error {
	st := u.State()
	issuer, subject := identityColumns(st.Identity)
	_, err := s.Exec(ctx, "insert user", `INSERT INTO users (id, email, name, language, is_operator, password_hash, issuer, subject, vouched_by, created_at, disabled_at, revision)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		string(st.ID), string(st.Email), st.Name, string(st.Language), st.IsOperator, st.PasswordHash, issuer, subject, string(st.VouchedBy), st.CreatedAt, st.DisabledAt, st.Revision)
	return err
}

func (s users) find(ctx context.Context, condition string, args ...any) (*member.User, error) {
	var row userRow
	if err := s.ReadRow(ctx, "get user", &row, `SELECT `+userColumns+` FROM users u WHERE `+condition+s.ForUpdate(), args...); err != nil {
		return nil, core.NotFound(err, "user_not_found", "There is no such user.")
	}
	return row.restore(), nil
}

// Get reads a user.
func (s users) Get(ctx context.Context, id tenant.UserID) (*member.User, error) {
	return s.find(ctx, `u.id = $1`, string(id))
}

// FindByEmail reads who has the address.
func (s users) FindByEmail(ctx context.Context, address member.Email) (*member.User, error) {
	return s.find(ctx, `u.email = $1`, string(address))
}

// FindByIdentity reads who has the identity.
func (s users) FindByIdentity(ctx context.Context, i member.Identity) (*member.User, error) {
	return s.find(ctx, `u.issuer = $1 AND u.subject = $2`, i.Issuer, i.Subject)
}

// Update writes a user whose stored revision is the aggregate's.
func (s users) Update(ctx context.Context, u *member.User) error {
	st := u.State()
	issuer, subject := identityColumns(st.Identity)
	n, err := s.Exec(ctx, "update user", `UPDATE users
		SET email = $1, name = $2, language = $3, is_operator = $4, password_hash = $5, issuer = $6, subject = $7, vouched_by = $8, disabled_at = $9, revision = revision + 1
		WHERE id = $10 AND revision = $11`,
		string(st.Email), st.Name, string(st.Language), st.IsOperator, st.PasswordHash, issuer, subject, string(st.VouchedBy), st.DisabledAt, string(st.ID), st.Revision)
	return s.CheckUpdated(n, err, u.Saved, func() error {
		_, err := s.Get(ctx, st.ID)
		return err
	})
}

// List reads a page of all users.
func (s users) List(ctx context.Context, page domain.PageRequest) (domain.Page[*member.User], error) {
	found := domain.Page[*member.User]{Limit: page.Limit(), Offset: page.Offset()}
	var rows []userRow
	err := s.ReadRows(ctx, "list users", &rows, `SELECT `+userColumns+`, (SELECT count(*) FROM users) AS total FROM users u
		ORDER BY u.created_at DESC, u.id DESC LIMIT $1 OFFSET $2`, page.Limit(), page.Offset())
	for _, row := range rows {
		found.Total = row.Total
		found.Items = append(found.Items, row.restore())
	}
	if err == nil && len(rows) == 0 && page.Offset() > 0 { // past the end
		err = s.ReadRow(ctx, "count users", &found.Total, `SELECT count(*) FROM users`)
	}
	return found, err
}

type links struct{ *unit }

var _ outbound.LinkRepository = links{}

// Insert adds a link.
func (s links) Insert(ctx context.Context, l *member.Link) error {
	st := l.State()
	_, err := s.Exec(ctx, "remove the oldest links", `DELETE FROM sign_in_links WHERE user_id = $1 AND purpose = $3 AND hash NOT IN
		(SELECT hash FROM sign_in_links WHERE user_id = $1 AND purpose = $3 ORDER BY ends_at DESC, hash LIMIT $2)`, string(st.User), member.MaxLinks-1, string(st.Purpose))
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, "insert link", `INSERT INTO sign_in_links (hash, user_id, purpose, shown_to, ends_at) VALUES ($1, $2, $3, $4, $5)`,
		st.Hash[:], string(st.User), string(st.Purpose), string(st.ShownTo), st.EndsAt)
	return err
}

// Find reads a link.
func (s links) Find(ctx context.Context, hash member.TokenHash) (*member.Link, error) {
	var row struct {
		User    string    `db:"user_id"`
		Purpose string    `db:"purpose"`
		ShownTo string    `db:"shown_to"`
		EndsAt  time.Time `db:"ends_at"`
	}
	err := s.ReadRow(ctx, "find link", &row, `SELECT user_id, purpose, shown_to, ends_at FROM sign_in_links WHERE hash = $1`+s.ForUpdate(), hash[:])
	if err := core.NotFound(err, "", ""); domain.KindOf(err) == domain.NotFound {
		return nil, member.LinkEnded()
	}
	if err != nil {
		return nil, err
	}
	return member.RestoreLink(member.LinkState{Hash: hash, User: tenant.UserID(row.User), Purpose: member.Purpose(row.Purpose), ShownTo: tenant.ID(row.ShownTo), EndsAt: row.EndsAt.UTC()}), nil
}

// Take removes a link.
func (s links) Take(ctx context.Context, hash member.TokenHash) error {
	n, err := s.Exec(ctx, "take link", `DELETE FROM sign_in_links WHERE hash = $1`, hash[:])
	if err == nil && n == 0 {
		return member.LinkEnded()
	}
	return err
}

// DeleteAll removes the links of a user.
func (s links) DeleteAll(ctx context.Context, user tenant.UserID) error {
	_, err := s.Exec(ctx, "remove links", `DELETE FROM sign_in_links WHERE user_id = $1`, string(user))
	return err
}

// Sweep removes links that have ended.
func (s links) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep links", `DELETE FROM sign_in_links WHERE hash IN (
		SELECT hash FROM sign_in_links WHERE ends_at < $1 ORDER BY ends_at LIMIT $2)`, before, limit)
	return int(n), err
}
