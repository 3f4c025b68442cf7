import { useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { operatorApi, type Schemas } from "@/api";
import { FormDialog, MetadataFields, metadataPatch, pairsOf, TextField, textOf } from "@/ui";

type Props = { tenant: Schemas["Tenant"]; onClose: () => void; onDone: () => void };

/** Changes a tenant's name, limits and metadata. */
export function EditTenant({ tenant, onClose, onDone }: Props) {
  const { t } = useLingui();
  const [pairs, setPairs] = useState(() => pairsOf(tenant.metadata));
  const { mutate, ...request } = operatorApi.useMutation("patch", "/tenants/{id}", { onSuccess: onDone });
  const { limits } = tenant;
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
        metadata: metadataPatch(tenant.metadata, pairs),
      },
    });
  };
  const limit = (path: string, label: string, value: number) => (
    <TextField name={`limits.${path}`} label={label} defaultValue={value} inputMode="numeric" type="number" min={1} />
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
      {limit("secret.requestsPerMinute", t`Secret keys: requests a minute`, limits.secret.requestsPerMinute)}
      {limit("secret.concurrentRequests", t`Secret keys: requests at the same time`, limits.secret.concurrentRequests)}
      {limit("public.requestsPerMinute", t`Public keys: requests a minute`, limits.public.requestsPerMinute)}
      {limit("public.concurrentRequests", t`Public keys: requests at the same time`, limits.public.concurrentRequests)}
      {limit("runRetentionDays", t`Days that finished runs are kept`, limits.runRetentionDays)}
      <MetadataFields pairs={pairs} onChange={setPairs} />
    </FormDialog>
  );
}
