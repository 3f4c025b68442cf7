import { useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { FormDialog, MetadataFields, metadataPatch, pairsOf, TextArea, TextField, textOf } from "@/ui";

type Props = { subTenant?: Schemas["SubTenant"]; onClose: () => void; onDone: () => void };

/** Registers a sub-tenant, or changes one. */
export function EditSubTenant({ subTenant, onClose, onDone }: Props) {
  const { t } = useLingui();
  const { api } = useTenant();
  const [pairs, setPairs] = useState(() => pairsOf(subTenant?.metadata));
  const creation = api.useMutation("post", "/sub-tenants", { onSuccess: onDone });
  const change = api.useMutation("patch", "/sub-tenants/{id}", { onSuccess: onDone });
  const save = subTenant ? change : creation;
  const submit = (form: FormData) => {
    const name = textOf(form, "name") ?? "";
    const description = textOf(form, "description") ?? null;
    const metadata = metadataPatch(subTenant?.metadata ?? {}, pairs);
    if (subTenant) change.mutate({ params: { path: { id: subTenant.id } }, body: { name, description, metadata } });
    else creation.mutate({ body: { subTenantId: textOf(form, "subTenantId"), name, description, metadata: metadata as Record<string, string> } });
  };
  return (
    <FormDialog
      title={subTenant ? t`Edit ${subTenant.name}` : t`Register a sub-tenant`}
      onClose={onClose}
      request={save}
      onSubmit={submit}
      action={subTenant ? t`Save` : t`Register`}
    >
      <TextField name="name" label={t`Name`} defaultValue={subTenant?.name} maxLength={255} autoFocus />
      {!subTenant && (
        <TextField
          name="subTenantId"
          label={t`Identifier`}
          optional
          help={t`What your own systems call the customer. It cannot be changed later.`}
          maxLength={255}
        />
      )}
      <TextArea name="description" label={t`Description`} optional defaultValue={subTenant?.description} maxLength={1000} />
      <MetadataFields pairs={pairs} onChange={setPairs} />
    </FormDialog>
  );
}
