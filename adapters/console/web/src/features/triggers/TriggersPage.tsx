import { useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { useTenant } from "@/api";
import { useItems, useReload, WorkflowFilter } from "@/parts";
import { type Config, startOf, startWords, type Trigger, TriggerForm } from "@/parts/triggers";
import { type Column, Link, ListPage, OnOff, OnOffFilter, SearchFilter, SelectFilter, Time, useSearchParameters } from "@/ui";

export default function TriggersPage() {
  const { t, i18n } = useLingui();
  const { api, id, can } = useTenant();
  const navigate = useNavigate();
  const reload = useReload("/triggers");
  const [{ workflowId }] = useSearchParameters();
  const columns: Column<Trigger>[] = [
    {
      head: t`Name`,
      cell: (trigger) => <Link to={`/t/${id}/triggers/${trigger.id}`}>{trigger.name}</Link>,
    },
    {
      head: t`What starts it`,
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
    { head: t`State`, cell: (trigger) => <OnOff of={trigger} />, width: "short" },
    { head: t`Changed`, cell: (trigger) => <Time at={trigger.updatedAt} />, width: "short", isMinor: true },
  ];
  return (
    <ListPage
      title={t`Triggers`}
      description={t`What starts workflows: calls, events, third parties, and the clock.`}
      query={useItems(api, "/triggers", ["search", "workflowId", "type", "isActive"])}
      columns={columns}
      filters={
        <>
          <SearchFilter />
          <WorkflowFilter />
          <SelectFilter name="type" label={t`Type`} all={t`All types`} options={{ webhook: t`Calls, events and hooks`, schedule: t`Schedules` }} />
          <OnOffFilter />
        </>
      }
      empty={{ title: t`There are no triggers yet`, text: t`Create one, and a workflow runs by itself.` }}
      create={
        can("editor") && {
          label: t`Create a trigger`,
          dialog: (onClose) => (
            <TriggerForm
              workflowId={workflowId}
              onClose={onClose}
              onDone={(made, start) => {
                void reload();
                void navigate({ to: `/t/${id}/triggers/${made.id}`, search: start === "hook" ? { doing: "hook" } : {} } as never);
              }}
            />
          ),
        }
      }
    />
  );
}
