import { useLingui } from "@lingui/react/macro";
import type { ReactNode } from "react";
import type { Schemas } from "@/api";
import { ShownOnceDialog } from "@/ui";

/** Shows the text of a key, which nobody can see again. */
export function NewKey({ made, onClose, children }: { made: Schemas["ApiKey"]; onClose: () => void; children?: ReactNode }) {
  const { t } = useLingui();
  return (
    <ShownOnceDialog title={t`The new key`} description={t`Copy it now: it is shown this once.`} text={made.key ?? ""} onClose={onClose}>
      {children}
    </ShownOnceDialog>
  );
}
