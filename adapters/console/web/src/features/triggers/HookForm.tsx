import { Trans, useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { Button, CheckField, Dialog, DialogButtons, Form, inputLook, SelectField, TextArea, TextField, textOf } from "@/ui";
import type { Trigger } from "./config";
import { choiceOf, kinds, mergedScheme, presets, type Scheme, schemeOf, secretMember } from "./scheme";
import { fieldWords, kindWords } from "./words";

type Hook = Schemas["Hook"];
type Props = { trigger: Trigger; hook?: Hook; onClose: () => void; onDone: (saved: Hook) => void };

/** Gives a trigger a hook, or changes its hook. A secret that is typed becomes a connection, which keeps it. */
export function HookForm({ trigger, hook, onClose, onDone }: Props) {
  const { t, i18n } = useLingui();
  const { api, client } = useTenant();
  const before = hook?.scheme as Scheme | undefined;
  const [choice, setChoice] = useState(before ? choiceOf(before) : "preset:github");
  const [secret, setSecret] = useState(hook?.secrets[0] ?? "");
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const connections = api.useQuery("get", "/connections", { params: { query: { limit: 100, isActive: true } } });
  const member = secretMember(choice);
  const isTyped = member !== null && secret === "";

  const submit = async (form: FormData) => {
    setBusy(true);
    setError(null);
    try {
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
      onDone(data as Hook);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const [sort, name = ""] = choice.split(":");
  return (
    <Dialog
      title={hook ? t`Edit the hook` : t`Create a hook`}
      description={t`An address for a third party, which proves who it is by a signature or a secret.`}
      isOpen
      onClose={onClose}
    >
      <Form error={error} onSubmit={(form) => void submit(form)} autoComplete="off">
        <SelectField name="scheme" label={t`Sender`} value={choice} onChange={(event) => setChoice(event.target.value)} autoFocus>
          <optgroup label={t`Known senders`}>
            {Object.entries(presets).map(([value, label]) => (
              <option key={value} value={`preset:${value}`}>
                {label}
              </option>
            ))}
          </optgroup>
          <optgroup label={t`Any other`}>
            {Object.keys(kinds).map((value) => (
              <option key={value} value={`kind:${value}`}>
                {i18n._(kindWords[value] ?? { id: value })}
              </option>
            ))}
          </optgroup>
        </SelectField>
        {sort === "kind" &&
          kinds[name]?.map((field) => {
            const shared = {
              name: `scheme.${field.name}`,
              label: i18n._(fieldWords[field.name] ?? { id: field.name }),
              optional: field.isOptional ? t`optional` : undefined,
              defaultValue: String(before?.[field.name] ?? ""),
            };
            return field.choices ? (
              <SelectField key={field.name} {...shared} defaultValue={shared.defaultValue || field.choices[0]}>
                {field.choices.map((value) => (
                  <option key={value}>{value}</option>
                ))}
              </SelectField>
            ) : (
              <TextField key={field.name} {...shared} placeholder={field.example} />
            );
          })}
        {choice !== "kind:none" && (
          <SelectField name="secrets" label={t`Secret`} value={secret} onChange={(event) => setSecret(event.target.value)}>
            <option value="">{member ? t`a new one` : t`Choose one`}</option>
            {connections.data?.items
              .filter(({ kind }) => ["hmac", "bearer", "basic", "header", "query"].includes(kind))
              .map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
          </SelectField>
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
          <p className="text-warn">
            <Trans>Whoever learns the address starts runs. Choose something else where the sender can prove who it is.</Trans>
          </p>
        )}
        <SelectField name="respond" label={t`Answer`} defaultValue={String((hook?.respond as Scheme | undefined)?.mode ?? "immediately")}>
          <option value="immediately">{t`at once`}</option>
          <option value="whenDone">{t`when the run is done, with what it returns`}</option>
          <option value="fixed">{t`a fixed one`}</option>
        </SelectField>
        <TextField
          name="filter"
          label={t`Filter`}
          optional={t`optional`}
          placeholder='payload.body.action == "opened"'
          defaultValue={hook?.filter}
          className={`${inputLook} font-mono`}
          spellCheck={false}
        />
        <TextArea
          name="allowFrom"
          label={t`Addresses that may send`}
          optional={t`optional`}
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
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isBusy}>
            {hook ? <Trans>Save</Trans> : <Trans>Create the hook</Trans>}
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
