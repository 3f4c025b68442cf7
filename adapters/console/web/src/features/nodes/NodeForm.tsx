import { useLingui } from "@lingui/react/macro";
import { type Schemas, useTenant } from "@/api";
import { CheckField, FormDialog, TextArea, TextField, textOf, Unreadable } from "@/ui";
import { readSchemas, shownSchema } from "./schemas";

type Node = Schemas["CustomNode"];

/** Makes a custom node, or changes one. */
export function NodeForm({ node, onClose, onDone }: { node?: Node; onClose: () => void; onDone: (saved: Node) => void }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const create = api.useMutation("post", "/custom-nodes", { onSuccess: onDone });
  const update = api.useMutation("patch", "/custom-nodes/{id}", { onSuccess: onDone });
  const save = node ? update : create;
  const submit = (form: FormData) => {
    const text = (name: string) => textOf(form, name);
    const { schemas, unreadable } = readSchemas(text);
    if (unreadable.length > 0) {
      const what = t`This must be a JSON object, such as {"order": {"type": "object"}}.`;
      throw new Unreadable(t`A schema is no JSON.`, Object.fromEntries(unreadable.map((name) => [name, what])));
    }
    const body = {
      ...schemas,
      name: text("name") ?? "",
      description: text("description") ?? null,
      version: text("version") ?? "",
      endpoint: text("endpoint") ?? null,
      canPause: form.get("canPause") === "on",
    };
    if (node) update.mutate({ params: { path: { id: node.id } }, body });
    else create.mutate({ body: { ...body, type: text("type") ?? "" } });
  };
  const schema = { rows: 4, isCode: true, optional: true };
  return (
    <FormDialog
      title={node ? t`Edit ${node.name}` : t`Create a custom node`}
      description={t`A node of workflows that a server of yours runs.`}
      isWide
      onClose={onClose}
      request={save}
      onSubmit={submit}
      action={node ? t`Save` : t`Create the node`}
    >
      <TextField name="name" label={t`Name`} placeholder={t`Score an order`} defaultValue={node?.name} maxLength={255} autoFocus />
      {!node && (
        <TextField
          name="type"
          label={t`Type`}
          help={t`What workflows call it. It cannot be changed later.`}
          placeholder="acme.score"
          spellCheck={false}
        />
      )}
      <TextField name="description" label={t`Description`} optional defaultValue={node?.description} maxLength={1000} />
      <TextField name="version" label={t`Version`} defaultValue={node?.version ?? "1.0.0"} />
      <TextField
        name="endpoint"
        label={t`URL`}
        optional
        type="url"
        help={t`What runs it; without one the URL of the settings is called.`}
        placeholder="https://example.com/nodes/score"
        defaultValue={node?.endpoint}
      />
      <TextArea
        name="inputSchema"
        label={t`Schema of the input`}
        {...schema}
        help={t`Fields by their names, as JSON.`}
        placeholder='{"order": {"type": "object", "required": true}}'
        defaultValue={shownSchema(node?.inputSchema)}
      />
      <TextArea name="outputSchema" label={t`Schema of the output`} {...schema} defaultValue={shownSchema(node?.outputSchema)} />
      <TextArea name="configSchema" label={t`Schema of the configuration`} {...schema} defaultValue={shownSchema(node?.configSchema)} />
      <CheckField
        name="canPause"
        label={t`It can pause a run`}
        help={t`It may answer that it waits for something, and go on later.`}
        defaultChecked={node?.canPause}
      />
    </FormDialog>
  );
}
