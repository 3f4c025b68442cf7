import { useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { RecordField } from "@/parts";
import { CheckField, FormDialog, TextField, textOf } from "@/ui";
import { eventTypes } from "./events";

type Endpoint = Schemas["WebhookEndpoint"];

/** Makes a webhook endpoint, or changes one. */
export function EndpointForm({ endpoint, onClose, onDone }: { endpoint?: Endpoint; onClose: () => void; onDone: (saved: Endpoint) => void }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const create = api.useMutation("post", "/webhook-endpoints", { onSuccess: onDone });
  const update = api.useMutation("patch", "/webhook-endpoints/{id}", { onSuccess: onDone });
  const before = endpoint?.connection ?? "";
  const [connection, setConnection] = useState(before);
  const submit = (form: FormData) => {
    const body = {
      url: textOf(form, "url") ?? "",
      description: textOf(form, "description") ?? null,
      events: form.getAll("events") as Endpoint["events"],
      subTenantId: textOf(form, "subTenantId") ?? null,
      connection: connection === before ? undefined : connection || null,
      includeChildren: form.get("includeChildren") === "on",
    };
    if (endpoint) update.mutate({ params: { path: { id: endpoint.id } }, body });
    else create.mutate({ body });
  };
  return (
    <FormDialog
      title={endpoint ? t`Edit the endpoint` : t`Create a webhook endpoint`}
      onClose={onClose}
      request={endpoint ? update : create}
      onSubmit={submit}
      action={endpoint ? t`Save` : t`Create the endpoint`}
    >
      <TextField name="url" label={t`URL`} type="url" placeholder="https://example.com/webhooks" defaultValue={endpoint?.url} autoFocus />
      <TextField name="description" label={t`Description`} optional defaultValue={endpoint?.description} maxLength={1000} />
      <fieldset className="flex flex-col gap-1">
        <legend className="font-medium">{t`Events`}</legend>
        <p className="mb-1 text-quiet">{t`With none chosen it receives all of them, those of later versions too.`}</p>
        <div className="grid grid-cols-[repeat(auto-fit,minmax(17rem,1fr))] gap-x-4 gap-y-1">
          {eventTypes.map((type) => (
            <label key={type} className="flex items-center gap-2">
              <input type="checkbox" name="events" value={type} defaultChecked={endpoint?.events.includes(type)} className="size-4 accent-accent" />
              <code>{type}</code>
            </label>
          ))}
        </div>
      </fieldset>
      <CheckField
        name="includeChildren"
        label={t`Runs of runs, too`}
        help={t`It also receives what becomes of runs that other runs started.`}
        defaultChecked={endpoint?.includeChildren}
      />
      <TextField
        name="subTenantId"
        label={t`Sub-tenant`}
        optional
        help={t`With one, it receives only what is about that sub-tenant.`}
        defaultValue={endpoint?.subTenantId}
        maxLength={255}
      />
      <RecordField
        of="/connections"
        name="connection"
        label={t`Connection`}
        optional
        help={t`What is sent bears its credential besides the signature.`}
        first={t`none`}
        value={connection}
        onChange={setConnection}
      />
    </FormDialog>
  );
}
