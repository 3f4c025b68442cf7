import { Trans, useLingui } from "@lingui/react/macro";
import { type Schemas, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, Form, SelectField } from "@/ui";
import { NewKey } from "./NewKey";

export function RotateKey({ apiKey, onClose, onDone }: { apiKey: Schemas["ApiKey"]; onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, data, error, isPending, variables } = api.useMutation("post", "/api-keys/{id}/rotate", { onSuccess: () => void onDone() });
  const { name, lastFour } = apiKey;
  if (data) {
    return (
      <NewKey made={data} onClose={onClose}>
        <p role="status">
          {variables?.body?.graceSeconds ? (
            <Trans>
              The old key <code>…{lastFour}</code> is still accepted for the time that you chose.
            </Trans>
          ) : (
            <Trans>
              The old key <code>…{lastFour}</code> is refused from now on.
            </Trans>
          )}
        </p>
      </NewKey>
    );
  }
  return (
    <Dialog
      title={t`Rotate the key ${name} …${lastFour}`}
      description={t`You get a new key of the same type, and the old one ends.`}
      isOpen
      onClose={onClose}
    >
      <Form
        error={error}
        onSubmit={(form) => mutate({ params: { path: { id: apiKey.id } }, body: { graceSeconds: Number(form.get("graceSeconds")) } })}
      >
        <SelectField
          name="graceSeconds"
          label={t`The old key ends`}
          defaultValue="3600"
          help={t`Give your servers time to take the new one, or end the old one at once when somebody else may have it.`}
        >
          <option value="0">{t`at once`}</option>
          <option value="900">{t`in 15 minutes`}</option>
          <option value="3600">{t`in an hour`}</option>
          <option value="86400">{t`in a day`}</option>
        </SelectField>
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Rotate the key</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
