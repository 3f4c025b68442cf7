import { useLingui } from "@lingui/react/macro";
import { ShownOnceDialog } from "@/ui";

/** Shows the address of a hook, this once. */
export function HookAddress({ url, onClose }: { url: string; onClose: () => void }) {
  const { t } = useLingui();
  return (
    <ShownOnceDialog
      title={t`The hook's address`}
      description={t`Give it to the sender. It is shown this once, since whoever has it can send.`}
      text={url}
      onClose={onClose}
    />
  );
}
