import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { UserCog, UserMinus, UserPlus } from "lucide-react";
import { useState } from "react";
import { type AccountSchemas, useAccount, useTenant } from "@/api";
import { Badge, Button, type Column, Confirm, Empty, List, Menu, MenuItem, Page, pageOf, Time, toast, useSearchParameters, useShortcut } from "@/ui";
import { ChangeRole } from "./ChangeRole";
import { Invite } from "./Invite";
import { RoleName } from "./roles";

type Member = AccountSchemas["Member"];
type Doing = { what: "invite" } | { what: "change" | "remove"; member: Member } | null;

export default function MembersPage() {
  const { t } = useLingui();
  const { api, client } = useTenant();
  const { user } = useAccount();
  const queries = useQueryClient();
  const [parameters] = useSearchParameters();
  const [doing, setDoing] = useState<Doing>(null);
  const query = api.useQuery("get", "/members", { params: { query: pageOf(parameters) } }, { placeholderData: keepPreviousData });
  const reload = () => queries.invalidateQueries({ queryKey: ["get", "/members"] });
  const close = () => setDoing(null);
  useShortcut({ keys: "c", label: t`Invite somebody`, run: () => setDoing({ what: "invite" }) });

  const columns: Column<Member>[] = [
    {
      head: <Trans>Member</Trans>,
      cell: (member) => (
        <div className="min-w-40 break-all">
          <p className="font-medium">
            {member.name || member.email}
            {member.userId === user.id && (
              <span className="font-normal text-quiet">
                {" "}
                <Trans>(you)</Trans>
              </span>
            )}
          </p>
          {member.name && <p className="text-quiet">{member.email}</p>}
        </div>
      ),
    },
    { head: <Trans>Role</Trans>, cell: (member) => <RoleName role={member.role} /> },
    {
      head: <Trans>State</Trans>,
      cell: ({ isDisabled, hasEntered }) =>
        isDisabled ? (
          <Badge tone="danger">
            <Trans>Kept out by the operator</Trans>
          </Badge>
        ) : hasEntered ? (
          <Badge tone="ok">
            <Trans>Active</Trans>
          </Badge>
        ) : (
          <Badge tone="info">
            <Trans>Invited</Trans>
          </Badge>
        ),
    },
    { head: <Trans>Since</Trans>, cell: (member) => <Time at={member.createdAt} />, isMinor: true },
    {
      head: (
        <span className="sr-only">
          <Trans>Actions</Trans>
        </span>
      ),
      cell: (member) => (
        <div className="-my-1 flex justify-end">
          <Menu label={t`Actions for ${member.email}`}>
            <MenuItem icon={UserCog} onSelect={() => setDoing({ what: "change", member })}>
              <Trans>Change the role</Trans>
            </MenuItem>
            <MenuItem icon={UserMinus} isDangerous onSelect={() => setDoing({ what: "remove", member })}>
              <Trans>Remove</Trans>
            </MenuItem>
          </Menu>
        </div>
      ),
    },
  ];
  const invite = (
    <Button look="primary" icon={UserPlus} onClick={() => setDoing({ what: "invite" })}>
      <Trans>Invite somebody</Trans>
    </Button>
  );
  return (
    <Page title={t`Members`} description={<Trans>People who sign in to this console, and what they may do.</Trans>} actions={invite}>
      <List
        label={t`Members`}
        columns={columns}
        rowKey={(member) => member.id}
        query={query}
        empty={<Empty title={<Trans>There are no members yet</Trans>} action={invite} />}
      />
      {doing?.what === "invite" && <Invite onClose={close} onDone={reload} />}
      {doing?.what === "change" && <ChangeRole member={doing.member} onClose={close} onDone={reload} />}
      <Confirm
        isOpen={doing?.what === "remove"}
        onClose={close}
        title={doing?.what === "remove" && <Trans>Remove {doing.member.email}?</Trans>}
        action={<Trans>Remove the member</Trans>}
        onConfirm={async () => {
          if (doing?.what !== "remove") return;
          await client.DELETE("/members/{id}", { params: { path: { id: doing.member.id } } });
          if (doing.member.userId === user.id) return location.reload(); // these pages are somebody else's from now on
          toast(t`${doing.member.email} is no member any more`);
          await reload();
        }}
      >
        <p>
          <Trans>Every session of theirs loses this tenant at once. What they made stays, and the audit log keeps their name.</Trans>
        </p>
      </Confirm>
    </Page>
  );
}
