import { useLingui } from "@lingui/react/macro";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { RecordField } from "@/parts/records";
import { CheckField, FormDialog, type Options, OptionsOf, SelectField, TextArea, TextField, textOf } from "@/ui";
import type { Trigger } from "./config";
import { choiceOf, kinds, mergedScheme, presets, type Scheme, schemeOf, secretMember } from "./scheme";
import { fieldWords, kindWords } from "./words";

type Hook = Schemas["Hook"];
type Props = { trigger: Trigger; hook?: Hook; onClose: () => void; onDone: (saved: Hook) => void };

/** Gives a trigger a hook, or changes its hook. A secret that is typed becomes a connection, which keeps it. */
export function HookForm({ trigger, hook, onClose, onDone }: Props) {
  const { t, i18n } = useLingui();
  const { client } = useTenant();
  const before = hook?.scheme as Scheme | undefined;
  const [choice, setChoice] = useState(before ? choiceOf(before) : "preset:github");
  const [secret, setSecret] = useState(hook?.secrets[0] ?? "");
  const member = secretMember(choice);
  const isTyped = member !== null && secret === "";

  const save = useMutation({
    mutationFn: async (form: FormData) => {
      const text = (name: string) => textOf(form, name);
      const typed = text("typed");
      let secrets = hook && hook.secrets.length > 1 && secret === hook.secrets[0] ? hook.secrets : secret ? [secret] : [];
      if (isTyped && typed) {
        const { data } = await client.POST("/connections", {
          body: { name: t`Hook of ${trigger.name}`, kind: "hmac", secret: { [member]: typed }, subTenantId: trigger.subTenantId },
        });
        secrets = data ? [data.id] : [];
        setSecret(secrets[0] ?? ""); // it is not made again where the hook is refused
      }
      const scheme = schemeOf(choice, text);
      const respond = { mode: text("respond") };
      const body = {
        // Presets have nothing to type; what was set by the API besides stays.
        scheme: (before && choiceOf(before) === choice ? mergedScheme(before, scheme) : scheme) as never,
        secrets: choice === "kind:none" ? [] : secrets,
        respond: (hook && (hook.respond as Scheme).mode === respond.mode ? hook.respond : respond) as never,
        filter: text("filter"),
        allowFrom: text("allowFrom")?.split(/[\s,]+/) ?? [],
        ingest: form.get("ingest") === "on",
      };
      const path = { params: { path: { id: trigger.id } } };
      const { data } = hook
        ? await client.PATCH("/triggers/{id}/hook", { ...path, body: { ...body, filter: body.filter ?? null } })
        : await client.POST("/triggers/{id}/hook", { ...path, body });
      return data as Hook;
    },
    onSuccess: onDone,
  });
  const [sort, name = ""] = choice.split(":");
  return (
    <FormDialog
      title={hook ? t`Edit the hook` : t`Create a hook`}
      description={t`An address for a third party, which proves who it is by a signature or a secret.`}
      onClose={onClose}
      request={save}
      onSubmit={save.mutate}
      autoComplete="off"
      action={hook ? t`Save` : t`Create the hook`}
    >
      <SelectField name="scheme" label={t`Sender`} value={choice} onChange={(event) => setChoice(event.target.value)} autoFocus>
        <optgroup label={t`Known senders`}>
          <OptionsOf options={prefixed("preset", presets)} />
        </optgroup>
        <optgroup label={t`Any other`}>
          <OptionsOf options={prefixed("kind", kindWords)} />
        </optgroup>
      </SelectField>
      {sort === "kind" &&
        kinds[name]?.map((field) => {
          const shared = {
            name: `scheme.${field.name}`,
            label: i18n._(fieldWords[field.name] ?? { id: field.name }),
            optional: field.isOptional,
            defaultValue: String(before?.[field.name] ?? ""),
          };
          return field.choices ? (
            <SelectField
              key={field.name}
              {...shared}
              defaultValue={shared.defaultValue || field.choices[0]}
              options={Object.fromEntries(field.choices.map((one) => [one, one]))}
            />
          ) : (
            <TextField key={field.name} {...shared} placeholder={field.example} />
          );
        })}
      {choice !== "kind:none" && (
        <RecordField
          of="/connections"
          takes={({ kind = "mtls" }) => ["hmac", "bearer", "basic", "header", "query"].includes(kind)}
          name="secrets"
          label={t`Secret`}
          first={member ? t`a new one` : t`Choose one`}
          value={secret}
          onChange={setSecret}
        />
      )}
      {choice !== "kind:none" && isTyped && (
        <TextField
          name="typed"
          label={member === "publicKey" ? t`The sender's public key` : t`The sender's signing secret`}
          help={t`It is kept as a connection, and never shown again.`}
          type="password"
          autoComplete="new-password"
        />
      )}
      {choice === "kind:none" && (
        <p className="text-warn">{t`Whoever learns the address starts runs. Choose something else where the sender can prove who it is.`}</p>
      )}
      <SelectField
        name="respond"
        label={t`Answer`}
        defaultValue={String((hook?.respond as Scheme | undefined)?.mode ?? "immediately")}
        options={{ immediately: t`at once`, whenDone: t`when the run is done, with what it returns`, fixed: t`a fixed one` }}
      />
      <TextField name="filter" label={t`Filter`} optional placeholder='payload.body.action == "opened"' defaultValue={hook?.filter} isCode />
      <TextArea
        name="allowFrom"
        label={t`Addresses that may send`}
        optional
        help={t`Addresses and ranges, one a line; empty for every one.`}
        defaultValue={hook?.allowFrom.join("\n")}
        rows={2}
      />
      <CheckField
        name="ingest"
        label={t`Ingest it as an event`}
        help={t`Runs that wait for the event go on with it, too.`}
        defaultChecked={hook?.ingest}
      />
    </FormDialog>
  );
}

/** Options under names of their own: "preset:github". */
const prefixed = (prefix: string, options: Options): Options =>
  Object.fromEntries(Object.entries(options).map(([value, text]) => [`${prefix}:${value}`, text]));
