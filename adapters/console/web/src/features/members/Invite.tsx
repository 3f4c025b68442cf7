import { Trans, useLingui } from "@lingui/react/macro";
import { type Role, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, Form, ShownOnce, TextField, textOf } from "@/ui";
import { RoleField } from "./roles";

export function Invite({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, data, error, isPending } = api.useMutation("post", "/members", { onSuccess: () => void onDone() });
  if (data) {
    return (
      <Dialog title={t`${data.email} is a member`} isOpen isSticky={Boolean(data.link)} onClose={onClose}>
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
            <p>
              <Trans>The invitation was mailed. Its link works once and for 72 hours.</Trans>
            </p>
          ) : (
            <p>
              <Trans>They have an account already, and see this tenant from now on.</Trans>
            </p>
          )}
          <DialogButtons>
            <Button look="primary" onClick={onClose}>
              {data.link ? <Trans>I have copied it</Trans> : <Trans>Close</Trans>}
            </Button>
          </DialogButtons>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={t`Invite somebody`} isOpen onClose={onClose}>
      <Form error={error} onSubmit={(form) => mutate({ body: { email: textOf(form, "email") ?? "", role: form.get("role") as Role } })}>
        <TextField name="email" label={t`Email`} type="email" autoComplete="off" autoFocus />
        <RoleField current="viewer" />
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Invite</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
