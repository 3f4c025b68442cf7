import { useLingui } from "@lingui/react/macro";
import type { ReactNode } from "react";
import { ShownOnceDialog } from "@/ui";

/** Shows the secret of an endpoint, which nobody can see again. */
export function NewSecret({ secret, onClose, children }: { secret: string; onClose: () => void; children?: ReactNode }) {
  const { t } = useLingui();
  return (
    <ShownOnceDialog
      title={t`The new secret`}
      description={t`Your receiver checks signatures with it. Copy it now: it is shown this once.`}
      text={secret}
      onClose={onClose}
    >
      {children}
    </ShownOnceDialog>
  );
}
