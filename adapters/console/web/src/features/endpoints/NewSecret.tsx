import { Trans, useLingui } from "@lingui/react/macro";
import type { ReactNode } from "react";
import { Button, Dialog, DialogButtons, ShownOnce } from "@/ui";

/** Shows the secret of an endpoint, which nobody can see again. */
export function NewSecret({ secret, onClose, children }: { secret: string; onClose: () => void; children?: ReactNode }) {
  const { t } = useLingui();
  return (
    <Dialog
      title={t`The new secret`}
      description={t`Your receiver checks signatures with it. Copy it now: it is shown this once.`}
      isOpen
      isSticky
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <ShownOnce label={t`The new secret`} text={secret} />
        {children}
        <DialogButtons>
          <Button look="primary" onClick={onClose}>
            <Trans>I have copied it</Trans>
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
