// Package processes implements inbound.Processes, which keeps the processes of the gateway
// known to each other.
package processes

import (
	"context"

	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Processes.
type Service struct {
	work   outbound.UnitOfWork
	queues outbound.Queues
	clock  outbound.Clock
}

var _ inbound.Processes = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, queues outbound.Queues, clock outbound.Clock) *Service {
	return &Service{work, queues, clock}
}

// Heartbeat records a heartbeat.
func (s *Service) Heartbeat(ctx context.Context, p process.Process) error {
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return st.Processes.Heartbeat(ctx, p) })
}

// Remove removes a process.
func (s *Service) Remove(ctx context.Context, id process.ID) error {
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return st.Processes.Remove(ctx, id) })
}

// Alive lists the processes.
func (s *Service) Alive(ctx context.Context) (live []process.Seen, required process.Level, err error) {
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		if live, err = st.Processes.Alive(ctx); err != nil {
			return err
		}
		required, err = st.Processes.Required(ctx)
		return err
	})
	return live, required, err
}

// Queues looks at what waits now.
func (s *Service) Queues(ctx context.Context) ([]process.Queue, error) {
	return s.queues.Queues(ctx, s.clock.Now())
}
