package member_test

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/member"
)

func TestALetterIsTriedLessAndLessOften(t *testing.T) {
	for attempts, want := range map[int]time.Duration{1: 15 * time.Second, 2: 30 * time.Second, 5: 4 * time.Minute, 9: 30 * time.Minute, 1000: 30 * time.Minute} {
		if got := (member.Letter{Attempts: attempts}).Pause(); got != want {
			t.Errorf("after %d attempts it waits %s, not %s", attempts, got, want)
		}
	}
}

func TestWhoGetsALetter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	invited := member.UserState{ID: "usr_1", Email: "anna@example.com"}
	entered, elsewhere, disabled := invited, invited, invited
	entered.PasswordHash, elsewhere.Identity, disabled.DisabledAt = "$argon2id$x", member.Identity{Issuer: "https://id.example", Subject: "1"}, &now
	for claim, c := range map[string]struct {
		of                member.UserState
		invitation, reset bool
	}{"who was invited": {invited, true, true}, "who has come in": {entered, false, true}, "who signs in elsewhere": {elsewhere, false, false}, "who is disabled": {disabled, false, false}} {
		for purpose, want := range map[member.Purpose]bool{member.Invitation: c.invitation, member.Reset: c.reset} {
			if got := (member.Letter{Purpose: purpose}).IsFor(member.RestoreUser(c.of)); got != want {
				t.Errorf("%s, %s: %v", claim, purpose, got)
			}
		}
	}
}
