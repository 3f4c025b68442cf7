import { useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { FormDialog, MetadataFields, metadataPatch, pairsOf, TextArea, TextField, textOf } from "@/ui";

export function EditWorkflow({ workflow, onClose, onDone }: { workflow: Schemas["Workflow"]; onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const [pairs, setPairs] = useState(() => pairsOf(workflow.metadata));
  const { mutate, ...request } = api.useMutation("patch", "/workflows/{id}", {
    onSuccess: () => {
      void onDone();
      onClose();
    },
  });
  return (
    <FormDialog
      title={t`Edit ${workflow.name}`}
      onClose={onClose}
      request={request}
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
      action={t`Save`}
    >
      <TextField name="name" label={t`Name`} defaultValue={workflow.name} maxLength={255} />
      <TextArea name="description" label={t`Description`} optional defaultValue={workflow.description} maxLength={1000} />
      <MetadataFields pairs={pairs} onChange={setPairs} />
    </FormDialog>
  );
}
