import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { useTenant } from "@/api";
import {
  Badge,
  Button,
  type Column,
  Empty,
  Filters,
  Link,
  List,
  Page,
  pageOf,
  SearchFilter,
  SelectFilter,
  Time,
  useSearchParameters,
  useShortcut,
} from "@/ui";
import { type Config, startOf, type Trigger } from "./config";
import { TriggerForm } from "./TriggerForm";
import { startWords } from "./words";

export default function TriggersPage() {
  const { t, i18n } = useLingui();
  const { api, id, can } = useTenant();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [parameters] = useSearchParameters();
  const [isCreating, setCreating] = useState(false);
  const { search, type, active, workflowId } = parameters;
  const isActive = active === "true" ? true : active === "false" ? false : undefined;
  const query = api.useQuery(
    "get",
    "/triggers",
    { params: { query: { ...pageOf(parameters), search, isActive, workflowId, type: type as Trigger["type"] | undefined } } },
    { placeholderData: keepPreviousData },
  );
  const workflows = api.useQuery("get", "/workflows", { params: { query: { limit: 100 } } });
  useShortcut(can("editor") ? { keys: "c", label: t`Create a trigger`, run: () => setCreating(true) } : undefined);

  const columns: Column<Trigger>[] = [
    {
      head: <Trans>Name</Trans>,
      cell: (trigger) => (
        <div className="min-w-32">
          <Link to={`/t/${id}/triggers/${trigger.id}`}>{trigger.name}</Link>
        </div>
      ),
    },
    {
      head: <Trans>What starts it</Trans>,
      cell: (trigger) => {
        const { webhookConfig, scheduleConfig } = trigger.config as Config;
        const what = webhookConfig?.event ?? scheduleConfig?.cron;
        return (
          <>
            {i18n._(startWords[startOf(trigger)])} {what && <code className="text-quiet">{what}</code>}
          </>
        );
      },
    },
    {
      head: <Trans>State</Trans>,
      cell: (trigger) => <Badge tone={trigger.isActive ? "ok" : "quiet"}>{trigger.isActive ? <Trans>On</Trans> : <Trans>Off</Trans>}</Badge>,
    },
    { head: <Trans>Changed</Trans>, cell: (trigger) => <Time at={trigger.updatedAt} />, isMinor: true },
  ];
  const create = can("editor") && (
    <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
      <Trans>Create a trigger</Trans>
    </Button>
  );
  return (
    <Page title={t`Triggers`} description={<Trans>What starts workflows: calls, events, third parties, and the clock.</Trans>} actions={create}>
      <Filters>
        <SearchFilter />
        <SelectFilter name="workflowId" label={t`Workflow`}>
          <option value="">{t`All workflows`}</option>
          {workflows.data?.items.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectFilter>
        <SelectFilter name="type" label={t`Type`}>
          <option value="">{t`All types`}</option>
          <option value="webhook">{t`Calls, events and hooks`}</option>
          <option value="schedule">{t`Schedules`}</option>
        </SelectFilter>
        <SelectFilter name="active" label={t`State`}>
          <option value="">{t`On and off`}</option>
          <option value="true">{t`On`}</option>
          <option value="false">{t`Off`}</option>
        </SelectFilter>
      </Filters>
      <List
        label={t`Triggers`}
        columns={columns}
        rowKey={(trigger) => trigger.id}
        query={query}
        isFiltered={!!(search || type || active || workflowId)}
        empty={
          <Empty title={<Trans>There are no triggers yet</Trans>} action={create}>
            <Trans>Create one, and a workflow runs by itself.</Trans>
          </Empty>
        }
      />
      {isCreating && (
        <TriggerForm
          workflowId={workflowId}
          onClose={() => setCreating(false)}
          onDone={(made, start) => {
            void queries.invalidateQueries({ queryKey: ["get", "/triggers"] });
            void navigate({ to: `/t/${id}/triggers/${made.id}`, search: start === "hook" ? { doing: "hook" } : {} } as never);
          }}
        />
      )}
    </Page>
  );
}
