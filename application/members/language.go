package members

import (
	"context"

	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// ChooseLanguage sets in which language the user reads and is written to.
func (s *Service) ChooseLanguage(ctx context.Context, token member.Token, language tenant.Language) error {
	found, err := s.counted(ctx, token)
	if err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		u, err := st.Members.Users.Get(ctx, found.User.ID())
		if err != nil || u.Language() == language {
			return err
		}
		if err := u.ChooseLanguage(language); err != nil {
			return err
		}
		return st.Members.Users.Update(ctx, u)
	})
}
