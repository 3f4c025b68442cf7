package portstest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// listTenants returns the names of a page, and the total.
func (f fixture) listTenants(filter tenant.Filter, q domain.Query) (names string, total int) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Tenants.List(ctx, filter, q)
		for _, ten := range found.Items {
			names += ten.Name() + " "
		}
		total = found.Total
		if found.Limit != q.Limit() || found.Offset != q.Offset() {
			f.Errorf("the page is of %d from %d, not of %d from %d", found.Limit, found.Offset, q.Limit(), q.Offset())
		}
		return err
	})
	return strings.TrimSpace(names), total
}

// register stores tenants to list: names in several cases and scripts, two at each
// instant. The second one changed last, and is suspended.
func (f fixture) register() {
	f.Helper()
	for i, name := range []string{"b", "a", "B", "éLAN", "Z_%eta"} {
		ten, err := tenant.New(tenant.ID(newID("tenant")), tenant.Draft{Name: name}, noon.Add(time.Duration(i/2)*time.Second))
		if err != nil {
			f.Fatal(err)
		}
		if name == "a" {
			ten.Suspend(noon.Add(time.Hour))
		}
		f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) })
	}
}

// TenantLists is the contract of outbound.TenantRepository.List.
func TenantLists(t *testing.T, open OpenStore) {
	active, suspended := tenant.Active, tenant.Suspended
	cases(t, open, map[string]func(f fixture){
		"the order is the one asked for, ties by id in the same direction": func(f fixture) {
			f.register()
			for order, want := range map[string]string{
				"": "Z_%eta éLAN B a b", "createdAt": "b a B éLAN Z_%eta", "-createdAt": "Z_%eta éLAN B a b",
				"name": "B Z_%eta a b éLAN", "-name": "éLAN b a Z_%eta B", "updatedAt": "b B éLAN Z_%eta a", "-updatedAt": "a Z_%eta éLAN B b",
			} {
				if got, total := f.listTenants(tenant.Filter{}, f.query(order, 20, 0)); got != want || total != 5 {
					f.Errorf("by %q: %s, of %d", order, got, total)
				}
			}
		},
		"only those that fit are listed and counted": func(f fixture) {
			f.register()
			for claim, c := range map[string]struct {
				filter tenant.Filter
				want   string
				total  int
			}{
				"active":                     {tenant.Filter{Status: &active}, "B Z_%eta b éLAN", 4},
				"suspended":                  {tenant.Filter{Status: &suspended}, "a", 1},
				"a letter in any case":       {tenant.Filter{Search: "b"}, "B b", 2},
				"another script's letters":   {tenant.Filter{Search: "Élan"}, "éLAN", 1},
				"a percent sign":             {tenant.Filter{Search: "%"}, "Z_%eta", 1},
				"an underscore":              {tenant.Filter{Search: "_"}, "Z_%eta", 1},
				"a letter, among the active": {tenant.Filter{Search: "A", Status: &active}, "Z_%eta éLAN", 2},
				"nothing like it":            {tenant.Filter{Search: "zzz"}, "", 0},
			} {
				if got, total := f.listTenants(c.filter, f.query("name", 20, 0)); got != c.want || total != c.total {
					f.Errorf("%s: %q, of %d", claim, got, total)
				}
			}
		},
		"pages do not overlap and know the total, beyond the end too": func(f fixture) {
			f.register()
			for claim, c := range map[string]struct {
				filter tenant.Filter
				offset int
				want   string
				total  int
			}{
				"the first": {tenant.Filter{}, 0, "B Z_%eta", 5}, "the last": {tenant.Filter{}, 4, "éLAN", 5}, "none": {tenant.Filter{}, 5, "", 5},
				"the first of those searched": {tenant.Filter{Search: "a"}, 0, "Z_%eta a", 3},
				"the last of those searched":  {tenant.Filter{Search: "a"}, 2, "éLAN", 3},
				"none of those searched":      {tenant.Filter{Search: "a"}, 3, "", 3},
			} {
				if got, total := f.listTenants(c.filter, f.query("name", 2, c.offset)); got != c.want || total != c.total {
					f.Errorf("%s: %q, of %d", claim, got, total)
				}
			}
		},
		"a field that they are not sorted by is a defect": func(f fixture) {
			for _, search := range []string{"", "a"} {
				err := f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					_, err := st.Tenants.List(ctx, tenant.Filter{Search: search}, domain.Query{Sorting: domain.Sorting{Field: "settings; --"}})
					return err
				})
				if err == nil || domain.KindOf(err) == domain.Invalid {
					f.Errorf("the error is %v", err)
				}
			}
		},
	})
}
