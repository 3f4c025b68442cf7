package main

import (
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// recordedCommands are what the audit log calls the commands that change something.
var recordedCommands = map[string]tenant.Operation{
	"tenant create": "createTenant", "tenant update": "changeTenant", "tenant suspend": "suspendTenant", "tenant resume": "resumeTenant", "tenant delete": "deleteTenant",
	"key create": tenant.CreateKey, "key rotate": tenant.RotateKey, "key revoke": tenant.RevokeKey,
	"user create": "createUser", "user invite": "inviteUser", "user reset": "resetUser", "user disable": "disableUser", "user enable": "enableUser",
	"member add": tenant.AddMember, "member remove": tenant.RemoveMember,
	"run cancel": tenant.CancelRun, "run retry": tenant.RetryRun,
	"secrets rotate": "rotateSecrets", "secrets replace-key": "replaceSecretsKey",
}

// unrecordedCommands are the others, and why the audit log says nothing of them.
var unrecordedCommands = map[string]string{
	"serve":       "what its clients do is recorded",
	"dev":         "what its clients do is recorded; it makes a demo tenant where there is none",
	"healthcheck": "it changes nothing",
	"version":     "it changes nothing", "help": "it changes nothing", "completion": "it changes nothing",
	"migrate up": "it changes the schema and no records, and there may be no log yet", "migrate status": "it changes nothing",
	"user list": "it changes nothing", "member list": "it changes nothing", "run list": "it changes nothing", "run show": "it changes nothing",
	"tenant list": "it changes nothing", "tenant show": "it changes nothing", "key list": "it changes nothing",
	"secrets generate-key": "it changes nothing", "secrets check": "it changes nothing",
	"audit list": "it changes nothing", "audit export": "it changes nothing", "audit heads": "it changes nothing", "audit verify": "it changes nothing",
	"usage verify": "it changes nothing", "workflow export": "it changes nothing", "workflow diff": "it changes nothing",
	"workflow apply": "the gateway records what its key does",
}

// recordCommand has the audit log say who runs a command that changes something: the account on the machine.
func recordCommand(cmd *cobra.Command, _ []string) {
	action, ok := recordedCommands[strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")]
	if !ok {
		return
	}
	by := audit.Actor{Kind: audit.ByCommandLine, ID: "unknown"}
	if account, err := user.Current(); err == nil {
		by.ID, by.Name = account.Username, account.Name
	}
	cmd.SetContext(inbound.Acting(cmd.Context(), audit.Act{Actor: by, Action: string(action)}))
}
