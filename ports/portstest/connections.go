package portstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// newConnection makes a connection whose every field has a value.
func newConnection(owner tenant.ID, change ...func(*connection.State)) *connection.Connection {
	ascii := func(string) (string, error) { return "", errors.New("it is not ASCII") }
	c, err := connection.New(connection.ID(newID(connection.IDPrefix)), owner, connection.Draft{
		Name: "Größe 100%_", Kind: connection.OAuth2ClientCredentials, Hosts: []string{"auth.example.com", "*.example.com:8443", "[2001:db8::1]"},
		Secret:    map[string]any{"tokenUrl": "https://auth.example.com/token", "clientId": "me", "clientSecret": "s3cret \"é\"", "scopes": []any{"a", "b"}},
		SubTenant: "team", Metadata: domain.MetadataPatch{Pairs: map[string]string{"a": "b"}},
	}, ascii, noon)
	if err != nil {
		panic(err)
	}
	st := c.State()
	st.UpdatedAt = noon.Add(time.Second)
	for _, fn := range change {
		fn(&st)
	}
	return connection.Restore(st)
}

// connection stores a connection.
func (f fixture) connection(owner tenant.ID, change ...func(*connection.State)) *connection.Connection {
	f.Helper()
	c := newConnection(owner, change...)
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Connections.Insert(ctx, c) })
	return c
}

func (f fixture) getConnection(owner tenant.ID, id connection.ID) (c *connection.Connection, err error) {
	f.Helper()
	err = f.work.Read(f.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		c, err = st.Connections.Get(ctx, tenant.All(owner), id)
		return err
	})
	return c, err
}

func (f fixture) sameConnection(want, got *connection.Connection) {
	f.Helper()
	hosts := cmp.Comparer(func(a, b connection.Hosts) bool { return cmp.Equal(a.Texts(), b.Texts()) })
	if diff := cmp.Diff(want.State(), got.State(), hosts); diff != "" {
		f.Error(diff)
	}
}

// listConnections returns the names of a page, and the total.
func (f fixture) listConnections(owner tenant.ID, filter connection.Filter, q domain.Query) (listed string) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Connections.List(ctx, tenant.All(owner), filter, q)
		for _, c := range found.Items {
			listed += c.Name() + " "
		}
		listed += fmt.Sprint(found.Total)
		return err
	})
	return listed
}

// ConnectionRepository is the contract of outbound.ConnectionRepository.
func ConnectionRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back, after each change": func(f fixture) {
			owner := f.tenant().ID()
			c := f.connection(owner)
			check := func() {
				f.Helper()
				got, err := f.getConnection(owner, c.ID())
				if err != nil {
					f.Fatal(err)
				}
				f.sameConnection(c, got)
				f.read(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.Connections.List(ctx, tenant.All(owner), connection.Filter{}, domain.Query{})
					if err == nil && len(found.Items) == 1 {
						f.sameConnection(c, found.Items[0])
					}
					return err
				})
			}
			check()
			name, no := "Other", false
			err := c.Revise(connection.Patch{
				Name: &name, Active: &no, Hosts: &[]string{"auth.example.com"}, Metadata: domain.MetadataPatch{Clear: true},
				Secret: map[string]any{"tokenUrl": "https://auth.example.com/t", "clientId": "you", "clientSecret": "new"},
			}, nil, noon.Add(time.Hour))
			if err != nil {
				f.Fatal(err)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Connections.Update(ctx, c) })
			if check(); c.Revision() != 2 {
				f.Errorf("the revision is %d", c.Revision())
			}
		},
		"a connection of every kind comes back": func(f fixture) {
			owner := f.tenant().ID()
			for _, kind := range connection.Kinds() {
				secret, err := connection.RestoreSecret(kind, `{"token":"a","X-Key":"b"}`)
				if err != nil {
					f.Fatal(err)
				}
				c := f.connection(owner, func(st *connection.State) {
					st.Kind, st.Secret, st.Shared, st.SubTenant, st.Hosts = kind, secret, true, "", connection.Hosts{}
				})
				got, err := f.getConnection(owner, c.ID())
				if err != nil {
					f.Fatal(err)
				}
				f.sameConnection(c, got)
			}
		},
		"a stale change is refused": func(f fixture) {
			owner := f.tenant().ID()
			c := f.connection(owner)
			stale := connection.Restore(c.State())
			update := func(c *connection.Connection) error {
				return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Connections.Update(ctx, c) })
			}
			if err := update(c); err != nil {
				f.Fatal(err)
			}
			f.wantError(update(stale), domain.Conflict, "stale_revision")
		},
		"what was deleted, or is another tenant's, does not exist": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			c := f.connection(owner)
			remove := func(of tenant.ID) error {
				return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					return st.Connections.Delete(ctx, tenant.All(of), c.ID())
				})
			}
			_, err := f.getConnection(other, c.ID())
			f.wantError(err, domain.NotFound, "connection_not_found")
			f.wantError(remove(other), domain.NotFound, "connection_not_found")
			if err := remove(owner); err != nil {
				f.Fatal(err)
			}
			_, err = f.getConnection(owner, c.ID())
			f.wantError(err, domain.NotFound, "connection_not_found")
			f.wantError(remove(owner), domain.NotFound, "connection_not_found")
			f.wantError(f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Connections.Update(ctx, c) }), domain.NotFound, "connection_not_found")
		},
		"a list holds those that fit, in the order asked for":         listedConnections,
		"active versions and endpoints that name a connection use it": usedConnections,
	})
}

func listedConnections(f fixture) {
	owner := f.tenant().ID()
	f.connection(f.tenant().ID())
	no, nobody, team := false, tenant.SubTenantID("nobody"), tenant.SubTenantID("team")
	for i, name := range []string{"b", "a", "Ä_x"} {
		f.connection(owner, func(st *connection.State) {
			st.Name, st.CreatedAt, st.UpdatedAt = name, noon.Add(time.Duration(i)*time.Second), noon.Add(-time.Duration(i)*time.Second)
			if i == 1 {
				st.Kind, st.Secret, st.Active, st.SubTenant = connection.Bearer, connection.Secret{}, false, ""
			}
		})
	}
	for _, c := range []struct {
		filter connection.Filter
		order  string
		want   string
	}{
		{connection.Filter{}, "", "Ä_x a b 3"}, {connection.Filter{}, "createdAt", "b a Ä_x 3"}, {connection.Filter{}, "updatedAt", "Ä_x a b 3"},
		{connection.Filter{}, "name", "a b Ä_x 3"}, {connection.Filter{}, "kind", "a b Ä_x 3"},
		{connection.Filter{Kind: connection.Bearer}, "", "a 1"}, {connection.Filter{Kind: connection.MTLS}, "", "0"},
		{connection.Filter{Active: &no}, "", "a 1"}, {connection.Filter{SubTenant: &team}, "", "Ä_x b 2"}, {connection.Filter{SubTenant: &nobody}, "", "0"},
		{connection.Filter{Search: "ä_"}, "", "Ä_x 1"}, {connection.Filter{Search: "%"}, "", "0"},
	} {
		if got := f.listConnections(owner, c.filter, f.query(c.order, 100, 0)); got != c.want {
			f.Errorf("%+v by %s: %s, not %s", c.filter, c.order, got, c.want)
		}
	}
	if got := f.listConnections(owner, connection.Filter{}, f.query("name", 1, 1)); got != "b 3" {
		f.Error(got)
	}
}

func usedConnections(f fixture) {
	owner, other := f.tenant().ID(), f.tenant().ID()
	c, unused := f.connection(owner), f.connection(owner)
	like := connection.ID(strings.ReplaceAll(string(c.ID()), "_", "x"))
	naming := func(owner tenant.ID, sub tenant.SubTenantID, id connection.ID) *workflow.Version {
		return f.versionOf(f.workflow(owner, sub), fmt.Sprintf(`{"headers":{},"connection":%q}`, id))
	}
	active, draft, foreign, similar := naming(owner, "a", c.ID()), naming(owner, "", c.ID()), naming(other, "", c.ID()), naming(owner, "", like)
	for _, ver := range []*workflow.Version{active, foreign, similar} {
		f.publish(ver)
	}
	hooks := newWebhooks(f)
	to := hooks.endpoint(owner, func(st *event.EndpointState) { st.Connection, st.SubTenant = c.ID(), "b" })
	uses := func(scope tenant.Scope, id connection.ID, limit int) (found []connection.Use) {
		f.Helper()
		f.read(func(ctx context.Context, st outbound.Stores) (err error) {
			found, err = st.Connections.UsedBy(ctx, scope, id, limit)
			return err
		})
		return found
	}
	version, endpoint := connection.Use{Kind: connection.UsedByVersion, ID: string(active.ID())}, connection.Use{Kind: connection.UsedByEndpoint, ID: string(to.ID())}
	for _, one := range []struct {
		scope tenant.Scope
		id    connection.ID
		limit int
		want  []connection.Use
	}{
		{tenant.All(owner), c.ID(), 9, []connection.Use{version, endpoint}}, {tenant.All(owner), c.ID(), 1, []connection.Use{version}},
		{tenant.Only(owner, "a"), c.ID(), 9, []connection.Use{version}}, {tenant.Only(owner, "b"), c.ID(), 9, []connection.Use{endpoint}},
		{tenant.All(owner), unused.ID(), 9, []connection.Use{}},
	} {
		if diff := cmp.Diff(one.want, uses(one.scope, one.id, one.limit)); diff != "" {
			f.Errorf("%+v: %s", one, diff)
		}
	}
	if draft.Active() {
		f.Error("a draft is active")
	}
}

// versionOf stores a version with one httpRequest of a configuration.
func (f fixture) versionOf(wf *workflow.Workflow, config string) *workflow.Version {
	f.Helper()
	st := f.version(wf).State()
	st.Graph = workflow.RestoreGraph([]workflow.Node{{ID: "call", Type: string(node.HTTPRequest), Version: "1.1.0", Name: "Call", Config: domain.RestoreDocument(config)}}, nil)
	ver := workflow.RestoreVersion(st)
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Versions.Update(ctx, ver) })
	return ver
}

func annotatedConnections(_ fixture, owner tenant.ID) annotated[*connection.Connection] {
	return annotated[*connection.Connection]{
		create: func(_ context.Context, _ outbound.Stores, p domain.MetadataPatch) (*connection.Connection, error) {
			draft := connection.Draft{Name: "x", Kind: connection.HMAC, Secret: map[string]any{"key": "x"}, Metadata: p}
			return connection.New(connection.ID(newID(connection.IDPrefix)), owner, draft, nil, noon)
		},
		revise: func(c *connection.Connection, p domain.MetadataPatch) error {
			return c.Revise(connection.Patch{Metadata: p}, nil, noon)
		},
		list: func(ctx context.Context, st outbound.Stores, m domain.MetadataFilter, q domain.Query) (domain.Page[*connection.Connection], error) {
			return st.Connections.List(ctx, tenant.All(owner), connection.Filter{Metadata: m}, q)
		},
		repository: func(st outbound.Stores) repository[*connection.Connection] { return st.Connections },
	}
}
