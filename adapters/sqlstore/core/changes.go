package core

import (
	"context"
	"slices"
	"sync"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// ChangesTopic is the topic of a Notices channel that names tenants that changed. It
// is written by triggers of the database, whatever version changed them.
const ChangesTopic = "sluice_changes"

// Notices is how a process learns what another one committed.
type Notices interface {
	// Listen calls onNotice for each notice with its topic, and connected(true) once
	// every later notice will be received, connected(false) once that cannot be promised.
	// It returns when ctx ends, and tries again by itself until then.
	Listen(ctx context.Context, topics []string, onNotice func(topic, payload string), connected func(bool)) error
}

// notifier is a Notices channel that a process can write to.
type notifier interface {
	// NoticeStatement is a statement that sends a notice: its parameters are the topic and
	// the payload, which has at most [MaxNotice] bytes.
	NoticeStatement() string
}

// MaxNotice is the size of a notice in bytes (PostgreSQL manual, NOTIFY: less than
// 8000).
const MaxNotice = 7999

// CanNotify says whether the database carries notices of processes to others.
func (s *Store) CanNotify() bool {
	_, ok := s.notices.(notifier)
	return ok
}

// Notify sends a notice to all processes, where the database carries them.
func (s *Store) Notify(ctx context.Context, topic, payload string) error {
	channel, ok := s.notices.(notifier)
	if !ok {
		return nil
	}
	if _, err := s.writer.db.ExecContext(ctx, channel.NoticeStatement(), topic, payload); err != nil {
		return s.translate(ctx, err)
	}
	return nil
}

// Listen receives notices; see [Notices].
func (s *Store) Listen(ctx context.Context, topics []string, onNotice func(topic, payload string), connected func(bool)) error {
	return s.notices.Listen(ctx, topics, onNotice, connected)
}

// watchers are those who follow the changes of a store.
type watchers struct {
	mu  sync.Mutex
	all []outbound.Watcher
}

var _ outbound.Changes = (*Store)(nil)

// Watch reports changes to w until ctx ends.
func (s *Store) Watch(ctx context.Context, w outbound.Watcher) error {
	s.watchers.add(w)
	defer s.watchers.remove(w)
	defer w.SetReliable(false)
	return s.Listen(ctx, []string{ChangesTopic}, func(_, payload string) { w.Changed(tenant.ID(payload)) }, w.SetReliable)
}

func (w *watchers) add(one outbound.Watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(slices.Clip(w.all), one)
}

func (w *watchers) remove(one outbound.Watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = slices.DeleteFunc(slices.Clone(w.all), func(other outbound.Watcher) bool { return other == one })
}

// notify reports tenants that a unit of this process changed.
func (w *watchers) notify(changed []tenant.ID) {
	if len(changed) == 0 {
		return
	}
	w.mu.Lock()
	all := w.all
	w.mu.Unlock()
	for _, one := range all {
		for _, owner := range changed {
			one.Changed(owner)
		}
	}
}

// NoteChange notes that the unit changes what is known of a tenant in memory.
func (u *Unit) NoteChange(owner tenant.ID) {
	if !slices.Contains(u.touched, owner) {
		u.touched = append(u.touched, owner)
	}
}
