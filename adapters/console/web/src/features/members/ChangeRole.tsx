import { Trans, useLingui } from "@lingui/react/macro";
import { type AccountSchemas, type Role, useAccount, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, Form } from "@/ui";
import { RoleField } from "./roles";

export function ChangeRole({ member, onClose, onDone }: { member: AccountSchemas["Member"]; onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const isMe = useAccount().user.id === member.userId;
  const { mutate, error, isPending } = api.useMutation("patch", "/members/{id}", {
    onSuccess: () => {
      if (isMe) return location.reload(); // what these pages show depends on it
      void onDone();
      onClose();
    },
  });
  return (
    <Dialog title={t`What may ${member.email} do?`} description={t`It has effect at once.`} isOpen onClose={onClose}>
      <Form error={error} onSubmit={(form) => mutate({ params: { path: { id: member.id } }, body: { role: form.get("role") as Role } })}>
        <RoleField current={member.role} />
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Change the role</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
