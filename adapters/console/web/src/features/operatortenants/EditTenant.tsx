import { useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { operatorApi, type Schemas } from "@/api";
import { FormDialog, MetadataFields, metadataPatch, pairsOf, TextField, textOf } from "@/ui";
import { budgetsPatch } from "./budgets";

type Props = { tenant: Schemas["Tenant"]; onClose: () => void; onDone: () => void };

/** Changes a tenant's name, limits and metadata. */
export function EditTenant({ tenant, onClose, onDone }: Props) {
  const { t } = useLingui();
  const [pairs, setPairs] = useState(() => pairsOf(tenant.metadata));
  const { mutate, ...request } = operatorApi.useMutation("patch", "/tenants/{id}", { onSuccess: onDone });
  const { limits, budgets } = tenant;
  const submit = (form: FormData) => {
    const number = (name: string) => Number(form.get(name));
    const quota = (kind: "public" | "secret") => ({
      requestsPerMinute: number(`limits.${kind}.requestsPerMinute`),
      concurrentRequests: number(`limits.${kind}.concurrentRequests`),
    });
    mutate({
      params: { path: { id: tenant.id } },
      body: {
        name: textOf(form, "name") ?? "",
        limits: { public: quota("public"), secret: quota("secret"), runRetentionDays: number("limits.runRetentionDays") },
        budgets: budgetsPatch(budgets, form),
        metadata: metadataPatch(tenant.metadata, pairs),
      },
    });
  };
  const amount = (name: string, label: string, value: number | undefined, help?: string) => (
    <TextField name={name} label={label} help={help} defaultValue={value} inputMode="numeric" type="number" min={1} />
  );
  return (
    <FormDialog
      title={t`Edit ${tenant.name}`}
      description={t`New limits hold at once.`}
      onClose={onClose}
      request={request}
      onSubmit={submit}
      action={t`Save`}
    >
      <TextField name="name" label={t`Name`} defaultValue={tenant.name} maxLength={255} />
      {amount("limits.secret.requestsPerMinute", t`Secret keys: requests a minute`, limits.secret.requestsPerMinute)}
      {amount("limits.secret.concurrentRequests", t`Secret keys: requests at the same time`, limits.secret.concurrentRequests)}
      {amount("limits.public.requestsPerMinute", t`Public keys: requests a minute`, limits.public.requestsPerMinute)}
      {amount("limits.public.concurrentRequests", t`Public keys: requests at the same time`, limits.public.concurrentRequests)}
      {amount("limits.runRetentionDays", t`Days that finished runs are kept`, limits.runRetentionDays)}
      {amount("budgets.runsPerMonth", t`Runs that it may start in a month`, budgets.runsPerMonth, t`Empty for any number.`)}
      {amount("budgets.liveRuns", t`Runs that may be live`, budgets.liveRuns, t`Empty for any number.`)}
      {amount("budgets.bytesKept", t`Bytes of runs that may be kept`, budgets.bytesKept, t`Empty for as many as the gateway is configured for.`)}
      <MetadataFields pairs={pairs} onChange={setPairs} />
    </FormDialog>
  );
}
