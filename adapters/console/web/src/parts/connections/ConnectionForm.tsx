import { useLingui } from "@lingui/react/macro";
import { useMutation } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { Button, CheckField, FormDialog, IconButton, inputLook, SelectField, TextArea, TextField, textOf } from "@/ui";
import { hostsOf, isNamed, type Kind, membersOf, type Pair, secretOf, shownMember } from "./secret";
import { kindWords, memberWords } from "./words";

type Connection = Schemas["Connection"];
type Props = {
  connection?: Connection;
  /** What the form of a new one begins with. */
  hosts?: string[];
  subTenantId?: string;
  onClose: () => void;
  onDone: (saved: Connection) => void;
};

/** Makes a connection, or changes one. What is secret is only ever typed, never shown. */
export function ConnectionForm({ connection, hosts: firstHosts = [], subTenantId, onClose, onDone }: Props) {
  const { t, i18n } = useLingui();
  const { client } = useTenant();
  const [kind, setKind] = useState<Kind>(connection?.kind ?? "bearer");
  const [pairs, setPairs] = useState<Pair[]>(() => namedPairs(connection));
  const stored = connection?.secret;
  const change = (id: number, part: Partial<Pair>) => setPairs(pairs.map((pair) => (pair.id === id ? { ...pair, ...part } : pair)));

  const save = useMutation({
    mutationFn: async (form: FormData) => {
      const hosts = hostsOf(textOf(form, "hosts"));
      const secret = secretOf(kind, (name) => textOf(form, `secret.${name}`), pairs, stored);
      const common = { name: textOf(form, "name") ?? "", shared: form.get("shared") === "on" };
      const { data } = connection
        ? await client.PATCH("/connections/{id}", {
            params: { path: { id: connection.id } },
            body: {
              ...common,
              // Other hosts get a secret only from who has it: it has to come along.
              hosts: hosts.join() === connection.hosts.join() ? undefined : hosts,
              secret: JSON.stringify(secret) === JSON.stringify(stored) ? undefined : secret,
            },
          })
        : await client.POST("/connections", { body: { ...common, kind, hosts, secret, subTenantId: textOf(form, "subTenantId") } });
      return data as Connection;
    },
    onSuccess: onDone,
  });

  return (
    <FormDialog
      title={connection ? t`Edit ${connection.name}` : t`Create a connection`}
      description={t`Workflows name it to call others. What is secret is never shown again, to nobody.`}
      onClose={onClose}
      request={save}
      onSubmit={save.mutate}
      autoComplete="off"
      action={connection ? t`Save` : t`Create the connection`}
    >
      <TextField name="name" label={t`Name`} defaultValue={connection?.name} maxLength={255} autoFocus />
      <SelectField
        name="kind"
        label={t`Kind`}
        value={kind}
        disabled={!!connection}
        onChange={(event) => setKind(event.target.value as Kind)}
        options={kindWords}
      />
      <TextArea
        name="hosts"
        label={t`Hosts`}
        optional={kind === "hmac"}
        help={
          connection
            ? t`The only hosts that the secret is ever sent to, one a line. To change them, type the secret again.`
            : t`The only hosts that the secret is ever sent to, one a line: api.example.com, *.example.com, api.example.com:8443.`
        }
        defaultValue={(connection?.hosts ?? firstHosts).join("\n")}
        rows={2}
        isCode
      />
      {isNamed(kind) ? (
        <fieldset className="flex flex-col gap-2">
          <legend className="font-medium">{i18n._(kindWords[kind])}</legend>
          {pairs.map((pair) => (
            <div key={pair.id} className="flex items-center gap-2">
              <input
                aria-label={t`Name of the value`}
                placeholder={kind === "header" ? "X-Api-Key" : "api_key"}
                className={inputLook}
                value={pair.key}
                onChange={(event) => change(pair.id, { key: event.target.value })}
              />
              <input
                aria-label={t`Value`}
                type="password"
                autoComplete="new-password"
                placeholder={stored && pair.key in stored ? t`unchanged` : undefined}
                className={inputLook}
                value={pair.value}
                onChange={(event) => change(pair.id, { value: event.target.value })}
              />
              <IconButton label={t`Remove ${pair.key}`} icon={Trash2} onClick={() => setPairs(pairs.filter(({ id }) => id !== pair.id))} />
            </div>
          ))}
          <Button
            className="self-start"
            icon={Plus}
            label={t`Add a value`}
            onClick={() => setPairs([...pairs, { id: Date.now(), key: "", value: "" }])}
          />
        </fieldset>
      ) : (
        membersOf[kind].map(({ name, isSecret, isOptional, isLong, choices }) => {
          const field = {
            name: `secret.${name}`,
            label: i18n._(memberWords[name] ?? { id: name }),
            optional: isOptional,
            defaultValue: shownMember(stored?.[name]),
            placeholder: isSecret && stored?.[name] ? t`unchanged` : undefined,
          };
          if (choices) {
            return (
              <SelectField key={`${kind} ${name}`} {...field} first={t`as usual`} options={Object.fromEntries(choices.map((one) => [one, one]))} />
            );
          }
          if (isLong) return <TextArea key={`${kind} ${name}`} {...field} rows={4} isCode />;
          return (
            <TextField
              key={`${kind} ${name}`}
              {...field}
              type={isSecret && name !== "username" ? "password" : "text"}
              autoComplete={isSecret ? "new-password" : "off"}
              spellCheck={false}
            />
          );
        })
      )}
      {!connection && (
        <TextField
          name="subTenantId"
          label={t`Sub-tenant`}
          optional
          help={t`With one, it serves the workflows of that sub-tenant only.`}
          defaultValue={subTenantId}
          maxLength={255}
        />
      )}
      <CheckField
        name="shared"
        label={t`Shared with sub-tenants`}
        help={t`Workflows of sub-tenants may use it, too.`}
        defaultChecked={connection?.shared}
      />
    </FormDialog>
  );
}

function namedPairs(connection: Connection | undefined): Pair[] {
  if (!connection || !isNamed(connection.kind)) return [{ id: 0, key: "", value: "" }];
  return Object.keys(connection.secret).map((key, id) => ({ id, key, value: "" }));
}
