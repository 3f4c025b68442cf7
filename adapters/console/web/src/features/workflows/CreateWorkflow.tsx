import { useLingui } from "@lingui/react/macro";
import { type Schemas, useTenant } from "@/api";
import { FormDialog, TextArea, TextField, textOf } from "@/ui";

export function CreateWorkflow({ onClose, onDone }: { onClose: () => void; onDone: (made: Schemas["Workflow"]) => void }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, ...request } = api.useMutation("post", "/workflows", { onSuccess: onDone });
  return (
    <FormDialog
      title={t`Create a workflow`}
      onClose={onClose}
      request={request}
      onSubmit={(form) =>
        mutate({ body: { name: textOf(form, "name") ?? "", description: textOf(form, "description"), subTenantId: textOf(form, "subTenantId") } })
      }
      action={t`Create the workflow`}
    >
      <TextField name="name" label={t`Name`} placeholder={t`Approve large orders`} maxLength={255} autoFocus />
      <TextArea name="description" label={t`Description`} optional maxLength={1000} />
      <TextField name="subTenantId" label={t`Sub-tenant`} optional help={t`With one, the workflow belongs to it.`} maxLength={255} />
    </FormDialog>
  );
}
