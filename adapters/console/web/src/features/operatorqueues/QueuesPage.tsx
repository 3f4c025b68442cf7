import type { MessageDescriptor } from "@lingui/core";
import { msg } from "@lingui/core/macro";
import { useLingui } from "@lingui/react/macro";
import { operatorApi } from "@/api";
import { ErrorPanel, Link, number, Page, Table, Time } from "@/ui";

const names: Record<string, { label: MessageDescriptor; help: MessageDescriptor }> = {
  runs: { label: msg`Runs`, help: msg`They could be moved on by a worker.` },
  webhook_events: { label: msg`Events`, help: msg`They are not yet handed to the endpoints of their tenants.` },
  webhook_deliveries: { label: msg`Deliveries`, help: msg`An attempt is due.` },
};

export default function QueuesPage() {
  const { t } = useLingui();
  const { data, error, refetch } = operatorApi.useQuery("get", "/queues", {}, { refetchInterval: 5_000 });
  return (
    <Page
      title={t`Queues`}
      description={t`What waits for a process to take it, of all tenants. Where the oldest entry waits for long, there are too few workers.`}
    >
      {error && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      <Table
        label={t`Queues`}
        rowKey={(queue) => queue.name}
        items={data?.items}
        columns={[
          {
            head: t`Queue`,
            cell: ({ name }) => {
              const known = names[name];
              return known ? (
                <>
                  {t(known.label)}
                  <span className="block text-quiet">{t(known.help)}</span>
                </>
              ) : (
                <code>{name}</code>
              );
            },
          },
          { head: t`Waiting`, cell: (queue) => number(queue.waiting), width: "short" },
          {
            head: t`Oldest`,
            cell: (queue) => (queue.oldestSince ? <Time at={queue.oldestSince} /> : <span className="text-quiet">{t`None waits`}</span>),
            width: "short",
          },
          {
            head: t`Tenants with the most`,
            cell: (queue) => (
              <ul>
                {queue.tenants.map((share) => (
                  <li key={share.tenantId} className="flex gap-2">
                    <Link to={`/operator/tenants/${share.tenantId}`}>{share.tenantId}</Link>
                    <span className="text-quiet">{number(share.waiting)}</span>
                  </li>
                ))}
              </ul>
            ),
            isMinor: true,
          },
        ]}
      />
    </Page>
  );
}
