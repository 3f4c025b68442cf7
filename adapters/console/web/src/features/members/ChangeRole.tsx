import { useLingui } from "@lingui/react/macro";
import { type AccountSchemas, type Role, useAccount, useTenant } from "@/api";
import { FormDialog } from "@/ui";
import { RoleField } from "./roles";

export function ChangeRole({ member, onClose, onDone }: { member: AccountSchemas["Member"]; onClose: () => void; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const isMe = useAccount().user.id === member.userId;
  const { mutate, ...request } = api.useMutation("patch", "/members/{id}", {
    onSuccess: () => {
      if (isMe) return location.reload(); // what these pages show depends on it
      void onDone();
      onClose();
    },
  });
  return (
    <FormDialog
      title={t`What may ${member.email} do?`}
      description={t`It has effect at once.`}
      onClose={onClose}
      request={request}
      onSubmit={(form) => mutate({ params: { path: { id: member.id } }, body: { role: form.get("role") as Role } })}
      action={t`Change the role`}
    >
      <RoleField current={member.role} />
    </FormDialog>
  );
}
