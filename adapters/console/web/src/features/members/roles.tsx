import { useLingui } from "@lingui/react/macro";
import type { Role } from "@/api";
import { SelectField } from "@/ui";

/** Chooses what a member may do. */
export function RoleField({ current }: { current: Role }) {
  const { t } = useLingui();
  return (
    <SelectField
      name="role"
      label={t`Role`}
      defaultValue={current}
      options={{
        viewer: t`Viewer: reads everything except keys and members`,
        approver: t`Approver: also answers questions, retries and cancels runs`,
        editor: t`Editor: also draws and publishes workflows, triggers, connections`,
        admin: t`Admin: everything, with keys, members and settings`,
      }}
    />
  );
}
