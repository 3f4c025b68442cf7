package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/domain"
	domainprocess "github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/ports/inbound"
)

// beaten answers heartbeats one after another.
type beaten struct {
	inbound.Processes
	answers []error
	at      []time.Duration // since the first one
	begun   time.Time
	left    bool
}

func (b *beaten) Heartbeat(context.Context, domainprocess.Process) error {
	b.at = append(b.at, time.Since(b.begun))
	err := b.answers[0]
	b.answers = b.answers[1:]
	return err
}

func (b *beaten) Remove(context.Context, domainprocess.ID) error {
	b.left = true
	return nil
}

func TestAHeartbeatThatFailsIsSoonTriedAgainAndARefusalEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("the database is away")
		refused := domain.Fail(domain.Conflict, "process_outdated", "too old")
		all := &beaten{answers: []error{nil, nil, away, away, nil, refused}, begun: time.Now()}
		var log bytes.Buffer
		outdated := make(chan error, 1)
		leave, err := keepHeartbeat(t.Context(), zerolog.New(&log), all, domainprocess.Process{ID: "a"}, func(err error) { outdated <- err })
		if err != nil {
			t.Fatal(err)
		}
		if err := <-outdated; !errors.Is(err, refused) || !isOutdated(err) {
			t.Errorf("it ends because of %v", err)
		}
		leave()
		want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 21 * time.Second, 22 * time.Second, 32 * time.Second}
		if !slices.Equal(all.at, want) || !all.left {
			t.Errorf("it was alive at %v, and left: %v", all.at, all.left)
		}
		if !strings.Contains(log.String(), "the database is away") {
			t.Errorf("the log says %s", log.String())
		}
	})
}

func TestAProcessThatIsRefusedDoesNotStart(t *testing.T) {
	refused := domain.Fail(domain.Conflict, "process_outdated", "too old")
	if _, err := keepHeartbeat(t.Context(), zerolog.Nop(), &beaten{answers: []error{refused}}, domainprocess.Process{}, nil); !errors.Is(err, refused) {
		t.Errorf("the error is %v", err)
	}
}
