import { Trans, useLingui } from "@lingui/react/macro";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, Form, IconButton, inputLook, TextArea, TextField, textOf } from "@/ui";
import { metadataPatch, type Pair } from "./metadata";

export function EditWorkflow({ workflow, onClose, onDone }: { workflow: Schemas["Workflow"]; onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const [pairs, setPairs] = useState<Pair[]>(() => Object.entries(workflow.metadata).map(([key, value], id) => ({ id, key, value })));
  const { mutate, error, isPending } = api.useMutation("patch", "/workflows/{id}", {
    onSuccess: () => {
      void onDone();
      onClose();
    },
  });
  const change = (id: number, part: Partial<Pair>) => setPairs(pairs.map((pair) => (pair.id === id ? { ...pair, ...part } : pair)));
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
        <fieldset className="flex flex-col gap-2">
          <legend className="font-medium">
            <Trans>Metadata</Trans>
          </legend>
          <p className="text-quiet">
            <Trans>Pairs of yours, by which lists can be narrowed.</Trans>
          </p>
          {pairs.map((pair) => (
            <div key={pair.id} className="flex items-center gap-2">
              <input
                aria-label={t`Key`}
                className={inputLook}
                maxLength={40}
                value={pair.key}
                onChange={(event) => change(pair.id, { key: event.target.value })}
              />
              <input
                aria-label={t`Value`}
                className={inputLook}
                maxLength={500}
                value={pair.value}
                onChange={(event) => change(pair.id, { value: event.target.value })}
              />
              <IconButton label={t`Remove ${pair.key}`} icon={Trash2} onClick={() => setPairs(pairs.filter(({ id }) => id !== pair.id))} />
            </div>
          ))}
          <Button className="self-start" icon={Plus} onClick={() => setPairs([...pairs, { id: Date.now(), key: "", value: "" }])}>
            <Trans>Add a pair</Trans>
          </Button>
        </fieldset>
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
