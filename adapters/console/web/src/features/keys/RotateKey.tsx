import { Trans, useLingui } from "@lingui/react/macro";
import { type Schemas, useTenant } from "@/api";
import { FormDialog, GraceField } from "@/ui";
import { NewKey } from "./NewKey";

export function RotateKey({ apiKey, onClose, onDone }: { apiKey: Schemas["ApiKey"]; onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, data, variables, ...request } = api.useMutation("post", "/api-keys/{id}/rotate", { onSuccess: () => void onDone() });
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
    <FormDialog
      title={t`Rotate the key ${name} …${lastFour}`}
      description={t`You get a new key of the same type, and the old one ends.`}
      onClose={onClose}
      request={request}
      onSubmit={(form) => mutate({ params: { path: { id: apiKey.id } }, body: { graceSeconds: Number(form.get("graceSeconds")) } })}
      action={t`Rotate the key`}
    >
      <GraceField
        label={t`The old key ends`}
        defaultValue="3600"
        help={t`Give your servers time to take the new one, or end the old one at once when somebody else may have it.`}
        most={86_400}
      />
    </FormDialog>
  );
}
