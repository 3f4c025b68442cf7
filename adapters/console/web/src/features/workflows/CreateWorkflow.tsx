import { Trans, useLingui } from "@lingui/react/macro";
import { type Schemas, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, Form, TextArea, TextField, textOf } from "@/ui";

export function CreateWorkflow({ onClose, onDone }: { onClose: () => void; onDone: (made: Schemas["Workflow"]) => void }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, error, isPending } = api.useMutation("post", "/workflows", { onSuccess: onDone });
  return (
    <Dialog title={t`Create a workflow`} isOpen onClose={onClose}>
      <Form
        error={error}
        onSubmit={(form) =>
          mutate({ body: { name: textOf(form, "name") ?? "", description: textOf(form, "description"), subTenantId: textOf(form, "subTenantId") } })
        }
      >
        <TextField name="name" label={t`Name`} placeholder={t`Approve large orders`} maxLength={255} autoFocus />
        <TextArea name="description" label={t`Description`} optional={t`optional`} maxLength={1000} />
        <TextField name="subTenantId" label={t`Sub-tenant`} optional={t`optional`} help={t`With one, the workflow belongs to it.`} maxLength={255} />
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Create the workflow</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
