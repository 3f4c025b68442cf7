import { Trans, useLingui } from "@lingui/react/macro";
import { operatorApi } from "@/api";
import { ErrorPanel, Page, Table, Time } from "@/ui";

export default function ProcessesPage() {
  const { t } = useLingui();
  const { data, error, refetch } = operatorApi.useQuery("get", "/processes", {}, { refetchInterval: 10_000 });
  return (
    <Page title={t`Processes`} description={<Trans>The processes of the gateway that share the database and are alive.</Trans>}>
      {error && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      <Table
        label={t`Processes`}
        rowKey={(process) => process.id}
        items={data?.items}
        columns={[
          { head: <Trans>Process</Trans>, cell: (process) => <code className="break-all">{process.id}</code> },
          { head: <Trans>Version</Trans>, cell: (process) => process.version },
          { head: <Trans>Does</Trans>, cell: (process) => process.role },
          { head: <Trans>Started</Trans>, cell: (process) => <Time at={process.startedAt} /> },
          { head: <Trans>Last seen</Trans>, cell: (process) => <Time at={process.seenAt} />, isMinor: true },
        ]}
      />
    </Page>
  );
}
