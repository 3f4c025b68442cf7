import { useLingui } from "@lingui/react/macro";
import { useTenant } from "@/api";
import { FormDialog, SelectField, TextField, textOf } from "@/ui";
import { NewKey } from "./NewKey";

export function CreateKey({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, data, ...request } = api.useMutation("post", "/api-keys", { onSuccess: () => void onDone() });
  if (data) return <NewKey made={data} onClose={onClose} />;
  const submit = (form: FormData) => {
    const until = textOf(form, "expiresAt");
    mutate({
      body: {
        type: form.get("type") as "secret" | "public",
        name: textOf(form, "name"),
        subTenantId: textOf(form, "subTenantId"),
        expiresAt: until && new Date(until).toISOString(),
      },
    });
  };
  return (
    <FormDialog title={t`Create a key`} onClose={onClose} request={request} onSubmit={submit} action={t`Create the key`}>
      <TextField
        name="name"
        label={t`Name`}
        help={t`Where it is used, so that you know later what stops when you revoke it.`}
        placeholder={t`Shop backend`}
        maxLength={255}
        autoFocus
      />
      <SelectField
        name="type"
        label={t`Type`}
        defaultValue="secret"
        options={{ secret: t`Secret: does everything, on your servers only`, public: t`Public: reads, and may be shown in a browser` }}
      />
      <TextField name="subTenantId" label={t`Sub-tenant`} optional help={t`With one, the key reaches only what belongs to it.`} maxLength={255} />
      <TextField name="expiresAt" label={t`Ends`} optional type="datetime-local" />
    </FormDialog>
  );
}
