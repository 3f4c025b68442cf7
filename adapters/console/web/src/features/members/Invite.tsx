import { Trans, useLingui } from "@lingui/react/macro";
import { type Role, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, FormDialog, ShownOnce, TextField, textOf } from "@/ui";
import { RoleField } from "./roles";

export function Invite({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, data, ...request } = api.useMutation("post", "/members", { onSuccess: () => void onDone() });
  if (data) {
    return (
      <Dialog title={t`${data.email} is a member`} isSticky={Boolean(data.link)} onClose={onClose}>
        <div className="flex flex-col gap-4">
          {data.link ? (
            <>
              <p>
                <Trans>
                  The gateway has no mail server. Give this link to <strong>{data.email}</strong> yourself: it is shown this once, works once and for
                  72 hours, and whoever has it comes in as them.
                </Trans>
              </p>
              <ShownOnce label={t`The invitation`} text={data.link} />
            </>
          ) : data.isMailed ? (
            <p>{t`The invitation was mailed. Its link works once and for 72 hours.`}</p>
          ) : (
            <p>{t`They have an account already, and see this tenant from now on.`}</p>
          )}
          <DialogButtons>
            <Button look="primary" label={data.link ? t`I have copied it` : t`Close`} onClick={onClose} />
          </DialogButtons>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title={t`Invite somebody`}
      onClose={onClose}
      request={request}
      onSubmit={(form) => mutate({ body: { email: textOf(form, "email") ?? "", role: form.get("role") as Role } })}
      action={t`Invite`}
    >
      <TextField name="email" label={t`Email`} type="email" autoComplete="off" autoFocus />
      <RoleField current="viewer" />
    </FormDialog>
  );
}
