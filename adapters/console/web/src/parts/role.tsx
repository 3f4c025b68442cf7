import { useLingui } from "@lingui/react/macro";
import type { Role } from "@/api";

/** What people call a role. */
export function RoleName({ role }: { role: Role }) {
  const { t } = useLingui();
  return { viewer: t`Viewer`, approver: t`Approver`, editor: t`Editor`, admin: t`Admin` }[role];
}
