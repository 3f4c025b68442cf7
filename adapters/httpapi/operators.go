package httpapi

import (
	"cmp"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/console"
	"github.com/sluicehq/sluice/adapters/httpapi/operator"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
)

// serveOperator adds what the operator does: for tokens, where there are any, and in the console for the operator's people.
func (a *API) serveOperator() {
	var entrances []operator.Entrance
	if a.opts.OperatorTokens != nil {
		entrances = append(entrances, operator.ByToken(a.opts.OperatorTokens, a.opts.Now))
	}
	if a.console != nil {
		entrances = append(entrances, operator.Entrance{Prefix: console.OperatorPath, Admit: a.admitOperator})
	}
	served := operator.Serve(a.engine, a.ports.Tenants, a.ports.Processes, operator.Runs{All: a.ports.OperatorRuns, Runs: a.ports.Runs, Hold: a.holdRunForOperator}, a.ports.OperatorUsage, operator.Keys{
		List: a.listKeys, Create: a.createKey, Revoke: a.revokeKey("keyId"), Rotate: a.rotateKey("keyId"),
	}, a.opts.Now, entrances...)
	for _, r := range served {
		a.undescribed = append(a.undescribed, Route{r[0], openAPIPath(console.OperatorPath + r[1])})
	}
}

// admitOperator knows one of the operator's people by the session. They may do everything, as a token without scopes.
func (a *API) admitOperator(c *gin.Context, _ []operator.Scope) (who audit.Actor, err error) {
	if err := a.console.Guard(c); err != nil {
		return who, err
	}
	account, err := a.console.Account(c)
	if err != nil {
		return who, err
	}
	u := account.User
	who = audit.Actor{Kind: audit.ByOperator, ID: string(u.ID()), Name: cmp.Or(u.Name(), string(u.Email()))}
	if !u.IsOperator() {
		return who, domain.Fail(domain.Forbidden, "role_not_allowed", "This is for the operator's own people.")
	}
	return who, nil
}
