import { useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { useTenant } from "@/api";
import { RecordField } from "@/parts/records";
import { FormDialog, SelectField, TextField, textOf } from "@/ui";
import { type Config, configOf, type Start, startOf, type Trigger, typeOf } from "./config";
import { ScheduleFields } from "./ScheduleFields";
import { startWords } from "./words";

type Props = {
  trigger?: Trigger;
  /** The workflow that is chosen at first. */
  workflowId?: string;
  /** The version that it starts, where that is no choice. */
  versionId?: string;
  onClose: () => void;
  onDone: (saved: Trigger, start: Start) => void;
};

/** Makes a trigger, or changes one. */
export function TriggerForm({ trigger, workflowId, versionId, onClose, onDone }: Props) {
  const { t } = useLingui();
  const { api } = useTenant();
  const [start, setStart] = useState<Start>(trigger ? startOf(trigger) : "call");
  const [workflow, setWorkflow] = useState(workflowId ?? "");
  const config = trigger?.config as Config | undefined;
  const versions = api.useQuery(
    "get",
    "/workflow-versions",
    { params: { query: { workflowId: workflow, limit: 20 } } },
    { enabled: workflow !== "" },
  );
  const active = versions.data?.items.find(({ isActive }) => isActive) ?? versions.data?.items[0];
  const done = (saved: Trigger) => onDone(saved, start);
  const create = api.useMutation("post", "/triggers", { onSuccess: done });
  const update = api.useMutation("patch", "/triggers/{id}", { onSuccess: done });
  const submit = (form: FormData) => {
    const name = textOf(form, "name") ?? "";
    const body = { name, config: configOf(start, (field) => textOf(form, field), config) };
    if (trigger) update.mutate({ params: { path: { id: trigger.id } }, body });
    else create.mutate({ body: { ...body, type: typeOf(start), workflowVersionId: versionId ?? textOf(form, "workflowVersionId") ?? "" } });
  };
  return (
    <FormDialog
      title={trigger ? t`Edit ${trigger.name}` : t`Create a trigger`}
      onClose={onClose}
      request={trigger ? update : create}
      onSubmit={submit}
      action={trigger ? t`Save` : t`Create the trigger`}
    >
      <TextField name="name" label={t`Name`} defaultValue={trigger?.name} maxLength={255} autoFocus />
      {!trigger && versionId === undefined && (
        <>
          <RecordField
            of="/workflows"
            name={workflow ? "workflow" : "workflowVersionId"} // where no workflow is chosen, it is here that the version is missing
            label={t`Workflow`}
            first={t`Choose one`}
            value={workflow}
            onChange={setWorkflow}
          />
          {workflow && (
            <SelectField
              key={active?.id ?? workflow}
              name="workflowVersionId"
              label={t`Version`}
              help={t`It fires while this version is the active one. Publishing another one can take it along.`}
              defaultValue={active?.id}
              options={Object.fromEntries(
                (versions.data?.items ?? []).map(({ id, version, isActive }) => [id, isActive ? t`${version}, active` : String(version)]),
              )}
            />
          )}
        </>
      )}
      {!trigger && (
        <SelectField
          name="start"
          label={t`What starts it`}
          value={start}
          onChange={(event) => setStart(event.target.value as Start)}
          options={startWords}
        />
      )}
      {(start === "event" || (trigger && start === "call")) && (
        <TextField
          name="config.webhookConfig.event"
          label={t`Event`}
          optional={!!trigger}
          placeholder="order.created"
          defaultValue={config?.webhookConfig?.event}
        />
      )}
      {start === "schedule" && <ScheduleFields schedule={config?.scheduleConfig} />}
      <TextField
        name="config.filter"
        label={t`Filter`}
        optional
        help={t`An expression over the payload: where it is not true, no run is started.`}
        placeholder="payload.amount >= 1000"
        defaultValue={config?.filter ?? ""}
        isCode
      />
    </FormDialog>
  );
}
