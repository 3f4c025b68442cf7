import { Trans, useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, Form, MetadataFields, metadataPatch, pairsOf, TextArea, TextField, textOf } from "@/ui";

export function EditWorkflow({ workflow, onClose, onDone }: { workflow: Schemas["Workflow"]; onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const [pairs, setPairs] = useState(() => pairsOf(workflow.metadata));
  const { mutate, error, isPending } = api.useMutation("patch", "/workflows/{id}", {
    onSuccess: () => {
      void onDone();
      onClose();
    },
  });
  return (
    <Dialog title={t`Edit ${workflow.name}`} isOpen onClose={onClose}>
      <Form
        error={error}
        onSubmit={(form) =>
          mutate({
            params: { path: { id: workflow.id } },
            body: {
              name: textOf(form, "name") ?? "",
              description: textOf(form, "description") ?? null,
              metadata: metadataPatch(workflow.metadata, pairs),
            },
          })
        }
      >
        <TextField name="name" label={t`Name`} defaultValue={workflow.name} maxLength={255} />
        <TextArea name="description" label={t`Description`} optional={t`optional`} defaultValue={workflow.description} maxLength={1000} />
        <MetadataFields pairs={pairs} onChange={setPairs} />
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Save</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
