import { Trans, useLingui } from "@lingui/react/macro";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { RecordField } from "@/parts";
import { FormDialog, inputLook, TextArea, TextField, textOf } from "@/ui";
import { type Choices, type Made, useWorkflowActions } from "./actions";
import { filledIn, found, type Template } from "./template";

type Props = { onClose: () => void; onDone: (made: Made) => void };

/** Makes an empty workflow, or one that begins as a template. */
export function CreateWorkflow({ onClose, onDone }: Props) {
  const { t } = useLingui();
  const { client } = useTenant();
  const actions = useWorkflowActions();
  const [template, setTemplate] = useState<Template | undefined>(undefined);
  const [choices, setChoices] = useState<Choices>({});

  const empty = async (form: FormData): Promise<Made> => {
    const body = { name: textOf(form, "name") ?? "", description: textOf(form, "description"), subTenantId: textOf(form, "subTenantId") };
    const { data } = await client.POST("/workflows", { body });
    return { workflow: data as Schemas["Workflow"], missing: [] };
  };
  /** What the main workflow calls is made before it, unless it is there. */
  const begin = async ({ id }: Template, form: FormData): Promise<Made> => {
    const { data } = await client.GET("/templates/{id}", { params: { path: { id } } });
    const whole = data as Template;
    const addresses = Object.fromEntries(whole.addresses.map(({ url }) => [url, textOf(form, url) ?? url]));
    const [main, ...called] = filledIn(whole, textOf(form, "name") ?? "", addresses);
    const subTenantId = textOf(form, "subTenantId");
    const missing: string[] = [];
    for (const file of called)
      if (!(await actions.idOf({ kind: "$workflow", name: file.name }))) missing.push(...(await actions.create(file, choices, subTenantId)).missing);
    const made = await actions.create({ ...(main as NonNullable<typeof main>), description: textOf(form, "description") }, choices, subTenantId);
    return { ...made, missing: [...new Set([...missing, ...made.missing])] };
  };
  const { mutate, ...request } = useMutation({
    mutationFn: (form: FormData) => (template ? begin(template, form) : empty(form)),
    onSuccess: onDone,
  });

  return (
    <FormDialog
      title={t`Create a workflow`}
      isWide
      onClose={onClose}
      request={request}
      onSubmit={(form) => mutate(form)}
      action={t`Create the workflow`}
    >
      <TextField
        key={`name ${template?.id}`}
        name="name"
        label={t`Name`}
        placeholder={t`Approve large orders`}
        defaultValue={template?.name}
        maxLength={255}
        autoFocus={!template}
      />
      <TextArea
        key={`description ${template?.id}`}
        name="description"
        label={t`Description`}
        defaultValue={template?.description}
        optional
        maxLength={1000}
      />
      <TextField name="subTenantId" label={t`Sub-tenant`} optional help={t`With one, the workflow belongs to it.`} maxLength={255} />
      <Templates chosen={template} onChoose={setTemplate} />
      {template?.connections.map(({ name, description }) => (
        <RecordField
          key={name}
          of="/connections"
          name={`connection ${name}`}
          label={name}
          help={description}
          optional
          first={t`Choose it later`}
          value={choices[name] ?? ""}
          onChange={(id) => setChoices({ ...choices, [name]: id })}
        />
      ))}
      {template?.addresses.map(({ url, description }) => (
        <TextField key={url} name={url} label={description} type="url" placeholder={url} optional isCode />
      ))}
    </FormDialog>
  );
}

/** Chooses what to begin with. */
function Templates({ chosen, onChoose }: { chosen: Template | undefined; onChoose: (template: Template | undefined) => void }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const [search, setSearch] = useState("");
  const { data } = api.useQuery("get", "/templates", {}, { staleTime: 600_000 });
  if (!data) return null;
  const shown = found(data.templates, search);
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium">
        <Trans>Begin with</Trans>
      </legend>
      <input
        type="search"
        aria-label={t`Search templates`}
        placeholder={t`Search templates`}
        className={inputLook}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
      />
      <div className="grid max-h-72 grid-cols-1 gap-2 overflow-y-auto p-1 sm:grid-cols-2">
        <Choice name={t`An empty workflow`} isChosen={!chosen} onChoose={() => onChoose(undefined)} />
        {shown.map((one) => (
          <Choice key={one.id} name={one.name} description={one.description} isChosen={chosen?.id === one.id} onChoose={() => onChoose(one)} />
        ))}
      </div>
      {shown.length === 0 && (
        <p className="text-quiet">
          <Trans>No template fits</Trans>
        </p>
      )}
    </fieldset>
  );
}

type ChoiceProps = { name: string; description?: string; isChosen: boolean; onChoose: () => void };

function Choice({ name, description, isChosen, onChoose }: ChoiceProps) {
  return (
    <label className="flex gap-2 rounded-md border border-line p-2 has-checked:border-accent has-checked:bg-hover has-focus-visible:outline-2">
      <input type="radio" name="template" aria-label={name} checked={isChosen} onChange={onChoose} className="mt-1 accent-accent" />
      <span className="min-w-0">
        <span className="block font-medium">{name}</span>
        {description && <span className="text-quiet">{description}</span>}
      </span>
    </label>
  );
}
