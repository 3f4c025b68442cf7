package httpapi

import "github.com/sluicehq/sluice/domain/tenant"

// Operations returns what each route behind the keys performs.
func Operations(a *API) map[Route]tenant.Operation {
	all := make(map[Route]tenant.Operation)
	for _, r := range a.routes() {
		all[Route{r.method, openAPIPath(r.path)}] = r.operation
	}
	return all
}
