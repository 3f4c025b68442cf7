import { useLingui } from "@lingui/react/macro";
import { UserCog, UserMinus, UserPlus } from "lucide-react";
import { useState } from "react";
import { type AccountSchemas, useAccount, useTenant } from "@/api";
import { RoleName, useItems, useReload } from "@/parts";
import { actionsColumn, Badge, type Column, Confirm, ListPage, Menu, MenuItem, Time, toast } from "@/ui";
import { ChangeRole } from "./ChangeRole";
import { Invite } from "./Invite";

type Member = AccountSchemas["Member"];

export default function MembersPage() {
  const { t } = useLingui();
  const { api, client } = useTenant();
  const { user } = useAccount();
  const reload = useReload("/members");
  const [doing, setDoing] = useState<{ what: "change" | "remove"; member: Member } | null>(null);
  const close = () => setDoing(null);
  const columns: Column<Member>[] = [
    {
      head: t`Member`,
      cell: (member) => (
        <div>
          <p className="font-medium">
            {member.name || member.email}
            {member.userId === user.id && <span className="font-normal text-quiet"> {t`(you)`}</span>}
          </p>
          {member.name && <p className="text-quiet">{member.email}</p>}
        </div>
      ),
    },
    { head: t`Role`, cell: (member) => <RoleName role={member.role} />, width: "short" },
    {
      head: t`State`,
      cell: ({ userId, isDisabled, hasEntered }) => {
        if (isDisabled) return <Badge tone="danger">{t`Kept out by the operator`}</Badge>;
        return hasEntered || userId === user.id ? <Badge tone="ok">{t`Active`}</Badge> : <Badge tone="info">{t`Invited`}</Badge>;
      },
    },
    { head: t`Since`, cell: (member) => <Time at={member.createdAt} />, width: "short", isMinor: true },
    actionsColumn((member) => (
      <Menu label={t`Actions for ${member.email}`}>
        <MenuItem icon={UserCog} label={t`Change the role`} onSelect={() => setDoing({ what: "change", member })} />
        <MenuItem icon={UserMinus} label={t`Remove`} isDangerous onSelect={() => setDoing({ what: "remove", member })} />
      </Menu>
    )),
  ];
  return (
    <ListPage
      title={t`Members`}
      description={t`People who sign in to this console, and what they may do.`}
      query={useItems(api, "/members")}
      columns={columns}
      empty={{ title: t`There are no members yet` }}
      create={{ label: t`Invite somebody`, icon: UserPlus, dialog: (onClose) => <Invite onClose={onClose} onDone={reload} /> }}
    >
      {doing?.what === "change" && <ChangeRole member={doing.member} onClose={close} onDone={reload} />}
      {doing?.what === "remove" && (
        <Confirm
          onClose={close}
          title={t`Remove ${doing.member.email}?`}
          action={t`Remove the member`}
          onConfirm={async () => {
            await client.DELETE("/members/{id}", { params: { path: { id: doing.member.id } } });
            if (doing.member.userId === user.id) return location.reload(); // these pages are somebody else's from now on
            toast(t`${doing.member.email} is no member any more`);
            await reload();
          }}
        >
          <p>{t`Every session of theirs loses this tenant at once. What they made stays, and the audit log keeps their name.`}</p>
        </Confirm>
      )}
    </ListPage>
  );
}
