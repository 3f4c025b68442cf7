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
  const numeric = { inputMode: "numeric", type: "number", min: 1 } as const;
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
      <TextField
        {...numeric}
        name="limits.secret.requestsPerMinute"
        label={t`Secret keys: requests a minute`}
        defaultValue={limits.secret.requestsPerMinute}
      />
      <TextField
        {...numeric}
        name="limits.secret.concurrentRequests"
        label={t`Secret keys: requests at the same time`}
        defaultValue={limits.secret.concurrentRequests}
      />
      <TextField
        {...numeric}
        name="limits.public.requestsPerMinute"
        label={t`Public keys: requests a minute`}
        defaultValue={limits.public.requestsPerMinute}
      />
      <TextField
        {...numeric}
        name="limits.public.concurrentRequests"
        label={t`Public keys: requests at the same time`}
        defaultValue={limits.public.concurrentRequests}
      />
      <TextField {...numeric} name="limits.runRetentionDays" label={t`Days that finished runs are kept`} defaultValue={limits.runRetentionDays} />
      <MetadataFields pairs={pairs} onChange={setPairs} />
    </FormDialog>
  );
}
