import { useLingui } from "@lingui/react/macro";
import { operatorApi } from "@/api";
import { ErrorPanel, Page, Table, Time } from "@/ui";

export default function ProcessesPage() {
  const { t } = useLingui();
  const { data, error, refetch } = operatorApi.useQuery("get", "/processes", {}, { refetchInterval: 10_000 });
  return (
    <Page title={t`Processes`} description={t`The processes of the gateway that share the database and are alive.`}>
      {error && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      <Table
        label={t`Processes`}
        rowKey={(process) => process.id}
        items={data?.items}
        columns={[
          { head: t`Process`, cell: (process) => <code className="break-all">{process.id}</code> },
          { head: t`Version`, cell: (process) => process.version, width: "short" },
          { head: t`Does`, cell: (process) => process.role, width: "short" },
          { head: t`Started`, cell: (process) => <Time at={process.startedAt} />, width: "short" },
          { head: t`Last seen`, cell: (process) => <Time at={process.seenAt} />, width: "short", isMinor: true },
        ]}
      />
    </Page>
  );
}
