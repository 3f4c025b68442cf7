package core

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// The topics by which processes request changes of tenants' lists from each other, and report
// them. Most tenants are followed by nobody, and go without.
const (
	ListRequestTopic = "sluice_lists_wanted"
	ListTopic        = "sluice_lists"
)

// listNotice is a change as other processes are told of it.
type listNotice struct {
	Tenant    string `json:"t"`
	Lost      bool   `json:"l,omitempty"` // no change, but that some were lost
	SubTenant string `json:"s,omitempty"`
	Mixed     bool   `json:"m,omitempty"`
	Kind      string `json:"k,omitempty"`
	Operation string `json:"o,omitempty"`
	ID        string `json:"i,omitempty"`
	Node      string `json:"n,omitempty"`
	Workflow  string `json:"w,omitempty"`
	Parent    string `json:"p,omitempty"`
	Endpoint  string `json:"e,omitempty"`
}

func (n listNotice) change() change.Change {
	return change.Change{
		Tenant: tenant.ID(n.Tenant), SubTenant: tenant.SubTenantID(n.SubTenant), Mixed: n.Mixed, Kind: change.Kind(n.Kind), Operation: change.Operation(n.Operation),
		ID: n.ID, Node: workflow.NodeID(n.Node), Workflow: workflow.ID(n.Workflow), Parent: run.ID(n.Parent), Endpoint: event.EndpointID(n.Endpoint),
	}
}

func noticeOf(c change.Change) listNotice {
	return listNotice{
		Tenant: string(c.Tenant), SubTenant: string(c.SubTenant), Mixed: c.Mixed, Kind: string(c.Kind), Operation: string(c.Operation),
		ID: c.ID, Node: string(c.Node), Workflow: string(c.Workflow), Parent: string(c.Parent), Endpoint: string(c.Endpoint),
	}
}

// word is the notice as a word of [PackNotices].
func (n listNotice) word() string {
	text, err := json.Marshal(n)
	if err != nil || len(text) > MaxNotice/2 {
		return listNotice{Tenant: n.Tenant, Lost: true}.word()
	}
	return strings.ReplaceAll(string(text), " ", `\u0020`) // which is only in texts
}

// Connect has changes sent to other processes while they can be: wake is called when there is
// something to be taken, and does not block. Nil ends it.
func (l *Lists) Connect(wake func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake, l.pending, l.lost, l.requests, l.requested = wake, nil, nil, nil, nil
	l.update()
	l.requestAll()
}

func (l *Lists) requestAll() {
	for owner := range l.followers {
		l.request(owner)
	}
}

// Take removes what is to be sent, as texts of notices of the process, origin: requests, and
// changes.
func (l *Lists) Take(origin string) (requests, changes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	words := make([]string, 0, len(l.lost)+len(l.pending))
	for _, owner := range slices.Sorted(maps.Keys(l.lost)) {
		words = append(words, listNotice{Tenant: string(owner), Lost: true}.word())
	}
	for _, c := range l.pending {
		words = append(words, noticeOf(c).word())
	}
	requests, changes = PackNotices(origin, slices.Sorted(maps.Keys(l.requests))), PackNotices(origin, words)
	l.pending, l.lost, l.requests = nil, nil, nil
	return requests, changes
}

// Untaken says that what was taken could not be sent.
func (l *Lists) Untaken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for owner := range l.requested {
		l.sendLost(owner)
	}
	l.requestAll()
}

// Receive takes in what another process has sent.
func (l *Lists) Receive(topic string, words []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if topic == ListRequestTopic {
		l.receiveRequests(words)
		return
	}
	for _, word := range words {
		var n listNotice
		switch err := json.Unmarshal([]byte(word), &n); {
		case err != nil: // of a later version, which sends something else
		case n.Lost:
			l.reportLost(tenant.ID(n.Tenant))
		default:
			l.report([]change.Change{n.change()})
		}
	}
}

// receiveRequests answers the first request for a tenant with the notice that changes were lost,
// those that were committed before.
func (l *Lists) receiveRequests(owners []string) {
	if l.requested == nil {
		l.requested = make(map[tenant.ID]time.Time)
	}
	until := time.Now().Add(listRequestTTL)
	var first []tenant.ID
	for _, text := range owners {
		owner := tenant.ID(text)
		if _, known := l.requested[owner]; !known {
			first = append(first, owner)
		}
		l.requested[owner] = until
	}
	l.update()
	for _, owner := range first {
		l.sendLost(owner)
	}
}

// LoseAll says that what other processes have sent may be lost.
func (l *Lists) LoseAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for owner := range l.followers {
		l.reportLost(owner)
	}
	l.requestAll()
}

// Renew requests again what is followed here, and forgets what nobody else requests any more. It is
// called every [ListRequestInterval].
func (l *Lists) Renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(l.requested, func(_ tenant.ID, until time.Time) bool { return !now.Before(until) })
	l.update()
	l.requestAll()
}

// PackNotices writes as few notices as hold all of the words, of which none has a space, behind
// the name of the process that sends them.
func PackNotices[T ~string](origin string, words []T) (texts []string) {
	for len(words) > 0 {
		var b strings.Builder
		b.WriteString(origin)
		n := 0
		for n < len(words) && (n == 0 || b.Len()+1+len(words[n]) <= MaxNotice) {
			b.WriteByte(' ')
			b.WriteString(string(words[n]))
			n++
		}
		texts = append(texts, b.String())
		words = words[n:]
	}
	return texts
}
