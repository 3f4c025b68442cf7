import { Trans, useLingui } from "@lingui/react/macro";
import { LogOut } from "lucide-react";
import { useState } from "react";
import { type AccountSchemas, accountApi, accountClient, useAccount } from "@/api";
import { RoleName, useReload } from "@/parts";
import { Badge, Button, buttonColumn, type Column, Confirm, ErrorPanel, Fact, Facts, Link, Page, Section, Table, Time } from "@/ui";
import { describeAgent } from "./agent";
import { PasswordForm } from "./PasswordForm";

type Session = AccountSchemas["Session"];
type Membership = AccountSchemas["Membership"];

export default function AccountPage() {
  const { t } = useLingui();
  const { user, memberships } = useAccount();
  const sessions = accountApi.useQuery("get", "/sessions");
  const [ending, setEnding] = useState<Session | null>(null);
  const reload = useReload("/sessions");

  const columns: Column<Session>[] = [
    {
      head: t`Browser`,
      cell: (session) => (
        <div>
          <p className="font-medium" title={session.agent}>
            {describeAgent(session.agent)}
          </p>
          {session.isCurrent && <Badge tone="ok">{t`This one`}</Badge>}
        </div>
      ),
    },
    { head: t`Address`, cell: (session) => <code>{session.address}</code>, isMinor: true },
    { head: t`Signed in`, cell: (session) => <Time at={session.createdAt} />, width: "short", isMinor: true },
    { head: t`Last seen`, cell: (session) => <Time at={session.lastUsedAt} />, width: "short" },
    { head: t`Ends`, cell: (session) => <Time at={session.endsAt} />, width: "short", isMinor: true },
    buttonColumn(
      (session) =>
        !session.isCurrent && (
          <Button
            icon={LogOut}
            label={t`End`}
            onClick={() => setEnding(session)}
            aria-label={t`End the session of ${describeAgent(session.agent)}`}
          />
        ),
    ),
  ];
  return (
    <Page title={t`Your account`} description={user.email}>
      <Facts>
        <Fact label={t`Email`} value={user.email} />
        <Fact label={t`Name`} value={user.name} />
        <Fact label={t`Installation`} value={user.isOperator ? t`You are one of the operator's people` : undefined} />
      </Facts>
      <Section title={t`Your tenants`}>
        <Table<Membership>
          label={t`Your tenants`}
          rowKey={(membership) => membership.id}
          items={memberships}
          columns={[
            { head: t`Tenant`, cell: (membership) => <Link to={`/t/${membership.tenantId}`}>{membership.tenantName}</Link> },
            { head: t`Role`, cell: (membership) => <RoleName role={membership.role} />, width: "short" },
          ]}
        />
      </Section>
      <Section title={t`Sessions`}>
        {sessions.error && <ErrorPanel error={sessions.error} onRetry={() => void sessions.refetch()} />}
        <Table label={t`Sessions`} columns={columns} rowKey={(session) => session.id} items={sessions.data?.items} />
      </Section>
      {user.hasPassword && (
        <Section title={t`Password`}>
          <PasswordForm onDone={reload} />
        </Section>
      )}
      {ending && (
        <Confirm
          onClose={() => setEnding(null)}
          title={t`End this session?`}
          action={t`End the session`}
          onConfirm={async () => {
            await accountClient.DELETE("/sessions/{id}", { params: { path: { id: ending.id } } });
            await reload();
          }}
        >
          <p>
            <Trans>
              {describeAgent(ending.agent)} at {ending.address} is signed out at once.
            </Trans>
          </p>
        </Confirm>
      )}
    </Page>
  );
}
