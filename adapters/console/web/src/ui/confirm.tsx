import { Trans, useLingui } from "@lingui/react/macro";
import * as Radix from "@radix-ui/react-alert-dialog";
import { type ReactNode, useState } from "react";
import { Button } from "./button";
import { ErrorPanel } from "./error";

type Props = {
  onClose: () => void;
  title: ReactNode;
  /** What goes with it, named. */
  children: ReactNode;
  /** The verb on the button: "Revoke the key". */
  action: ReactNode;
  /** What has to be typed first, such as a name, where nothing brings back what goes. */
  typed?: string;
  isDangerous?: boolean;
  onConfirm: () => Promise<unknown>;
};

/** Asks before something is done that cannot be undone. */
export function Confirm({ onClose, title, children, action, typed, isDangerous = true, onConfirm }: Props) {
  const { t } = useLingui();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [text, setText] = useState("");
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Radix.Root open onOpenChange={(open) => !open && !isBusy && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[#0008]" />
        <Radix.Content className="fixed top-[12vh] left-1/2 z-50 max-h-[80vh] w-[calc(100vw-2rem)] max-w-md -translate-x-1/2 overflow-y-auto rounded-lg border border-line bg-raised p-5 shadow-xl">
          <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
          <Radix.Description asChild>
            <div className="mt-2 flex flex-col gap-2 text-quiet">{children}</div>
          </Radix.Description>
          {typed !== undefined && (
            <label className="mt-3 flex flex-col gap-1">
              <span>
                <Trans>
                  Type <strong>{typed}</strong> to go on.
                </Trans>
              </span>
              <input
                className="rounded-md border border-strong-line bg-panel px-2.5 py-1.5"
                value={text}
                onChange={(event) => setText(event.target.value)}
              />
            </label>
          )}
          {error !== null && (
            <div className="mt-3">
              <ErrorPanel error={error} />
            </div>
          )}
          <div className="mt-5 flex flex-wrap justify-end gap-2">
            <Radix.Cancel asChild>
              <Button label={t`Cancel`} disabled={isBusy} />
            </Radix.Cancel>
            <Button
              look={isDangerous ? "danger" : "primary"}
              label={action}
              isBusy={isBusy}
              disabled={typed !== undefined && text !== typed}
              onClick={() => void confirm()}
            />
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
