import { Trans, useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { LogOut } from "lucide-react";
import { useState } from "react";
import { type AccountSchemas, accountApi, accountClient, useAccount } from "@/api";
import { Badge, Button, type Column, Confirm, ErrorPanel, Facts, Link, Page, Section, Table, Time } from "@/ui";
import { describeAgent } from "./agent";
import { PasswordForm } from "./PasswordForm";

type Session = AccountSchemas["Session"];
type Membership = AccountSchemas["Membership"];

export default function AccountPage() {
  const { t } = useLingui();
  const { user, memberships } = useAccount();
  const queries = useQueryClient();
  const sessions = accountApi.useQuery("get", "/sessions");
  const [ending, setEnding] = useState<Session | null>(null);
  const reload = () => queries.invalidateQueries({ queryKey: ["get", "/sessions"] });

  const columns: Column<Session>[] = [
    {
      head: <Trans>Browser</Trans>,
      cell: (session) => (
        <div className="min-w-32 break-words">
          <p className="font-medium" title={session.agent}>
            {describeAgent(session.agent)}
          </p>
          {session.isCurrent && (
            <Badge tone="ok">
              <Trans>This one</Trans>
            </Badge>
          )}
        </div>
      ),
    },
    { head: <Trans>Address</Trans>, cell: (session) => <code>{session.address}</code>, isMinor: true },
    { head: <Trans>Signed in</Trans>, cell: (session) => <Time at={session.createdAt} />, isMinor: true },
    { head: <Trans>Last seen</Trans>, cell: (session) => <Time at={session.lastUsedAt} /> },
    { head: <Trans>Ends</Trans>, cell: (session) => <Time at={session.endsAt} />, isMinor: true },
    {
      head: (
        <span className="sr-only">
          <Trans>Actions</Trans>
        </span>
      ),
      cell: (session) =>
        !session.isCurrent && (
          <div className="-my-1 flex justify-end">
            <Button icon={LogOut} onClick={() => setEnding(session)} aria-label={t`End the session of ${describeAgent(session.agent)}`}>
              <Trans>End</Trans>
            </Button>
          </div>
        ),
    },
  ];
  return (
    <Page title={t`Your account`} description={user.email}>
      <Facts
        facts={[
          [<Trans key="email">Email</Trans>, user.email],
          [<Trans key="name">Name</Trans>, user.name],
          [<Trans key="operator">Installation</Trans>, user.isOperator ? <Trans key="v">You are one of the operator's people</Trans> : undefined],
        ]}
      />
      <Section title={<Trans>Your tenants</Trans>}>
        <Table<Membership>
          label={t`Your tenants`}
          rowKey={(membership) => membership.id}
          items={memberships}
          columns={[
            { head: <Trans>Tenant</Trans>, cell: (membership) => <Link to={`/t/${membership.tenantId}`}>{membership.tenantName}</Link> },
            { head: <Trans>Role</Trans>, cell: (membership) => <RoleName role={membership.role} /> },
          ]}
        />
      </Section>
      <Section title={<Trans>Sessions</Trans>}>
        {sessions.error && <ErrorPanel error={sessions.error} onRetry={() => void sessions.refetch()} />}
        <Table label={t`Sessions`} columns={columns} rowKey={(session) => session.id} items={sessions.data?.items} />
      </Section>
      {user.hasPassword && (
        <Section title={<Trans>Password</Trans>}>
          <PasswordForm onDone={reload} />
        </Section>
      )}
      <Confirm
        isOpen={ending !== null}
        onClose={() => setEnding(null)}
        title={<Trans>End this session?</Trans>}
        action={<Trans>End the session</Trans>}
        onConfirm={async () => {
          if (!ending) return;
          await accountClient.DELETE("/sessions/{id}", { params: { path: { id: ending.id } } });
          await reload();
        }}
      >
        {ending && (
          <p>
            <Trans>
              {describeAgent(ending.agent)} at {ending.address} is signed out at once.
            </Trans>
          </p>
        )}
      </Confirm>
    </Page>
  );
}

function RoleName({ role }: { role: Membership["role"] }) {
  switch (role) {
    case "viewer":
      return <Trans>Viewer</Trans>;
    case "approver":
      return <Trans>Approver</Trans>;
    case "editor":
      return <Trans>Editor</Trans>;
    case "admin":
      return <Trans>Admin</Trans>;
  }
}
