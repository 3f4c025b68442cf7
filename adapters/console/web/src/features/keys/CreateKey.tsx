import { Trans, useLingui } from "@lingui/react/macro";
import { useTenant } from "@/api";
import { Button, Dialog, DialogButtons, Form, SelectField, TextField, textOf } from "@/ui";
import { NewKey } from "./NewKey";

export function CreateKey({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, data, error, isPending } = api.useMutation("post", "/api-keys", { onSuccess: () => void onDone() });
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
    <Dialog title={t`Create a key`} isOpen onClose={onClose}>
      <Form error={error} onSubmit={submit}>
        <TextField
          name="name"
          label={t`Name`}
          help={t`Where it is used, so that you know later what stops when you revoke it.`}
          placeholder={t`Shop backend`}
          maxLength={255}
          autoFocus
        />
        <SelectField name="type" label={t`Type`} defaultValue="secret">
          <option value="secret">{t`Secret: does everything, on your servers only`}</option>
          <option value="public">{t`Public: reads, and may be shown in a browser`}</option>
        </SelectField>
        <TextField
          name="subTenantId"
          label={t`Sub-tenant`}
          optional={t`optional`}
          help={t`With one, the key reaches only what belongs to it.`}
          maxLength={255}
        />
        <TextField name="expiresAt" label={t`Ends`} optional={t`optional`} type="datetime-local" />
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Create the key</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
