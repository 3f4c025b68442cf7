import { Trans, useLingui } from "@lingui/react/macro";
import type { Role } from "@/api";
import { SelectField } from "@/ui";

export function RoleName({ role }: { role: Role }) {
  switch (role) {
    case "viewer":
      return <Trans>Viewer</Trans>;
    case "approver":
      return <Trans>Approver</Trans>;
    case "editor":
      return <Trans>Editor</Trans>;
    case "admin":
      return <Trans>Admin</Trans>;
  }
}

/** Chooses what a member may do. */
export function RoleField({ current }: { current: Role }) {
  const { t } = useLingui();
  return (
    <SelectField name="role" label={t`Role`} defaultValue={current}>
      <option value="viewer">{t`Viewer: reads everything except keys and members`}</option>
      <option value="approver">{t`Approver: also answers questions, retries and cancels runs`}</option>
      <option value="editor">{t`Editor: also draws and publishes workflows, triggers, connections`}</option>
      <option value="admin">{t`Admin: everything, with keys, members and settings`}</option>
    </SelectField>
  );
}
