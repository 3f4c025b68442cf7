import { Trans, useLingui } from "@lingui/react/macro";
import type { ReactNode } from "react";
import type { Schemas } from "@/api";
import { Button, Dialog, DialogButtons, ShownOnce } from "@/ui";

/** Shows the text of a key, which nobody can see again. */
export function NewKey({ made, onClose, children }: { made: Schemas["ApiKey"]; onClose: () => void; children?: ReactNode }) {
  const { t } = useLingui();
  return (
    <Dialog title={t`The new key`} description={t`Copy it now: it is shown this once.`} isOpen isSticky onClose={onClose}>
      <div className="flex flex-col gap-4">
        <ShownOnce label={t`The new key`} text={made.key ?? ""} />
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
