import { useLingui } from "@lingui/react/macro";
import { base } from "@/api";
import { CopyButton } from "@/ui";
import { addressOf, commandFor } from "./config";

/** Where servers call a trigger, and how. */
export function Address({ triggerId }: { triggerId: string }) {
  const { t } = useLingui();
  const address = addressOf(triggerId, location.origin, base);
  return (
    <div className="flex flex-col gap-2">
      <p className="text-quiet">{t`Your servers call it with a secret key.`}</p>
      <div className="flex items-start gap-1 rounded-md border border-line bg-panel p-2">
        <code className="min-w-0 flex-1 py-1 break-all">{address}</code>
        <CopyButton text={address} label={t`Copy the address`} />
      </div>
      <div className="flex items-start gap-1 rounded-md border border-line bg-panel p-2">
        <pre className="min-w-0 flex-1 py-1 font-mono break-all whitespace-pre-wrap">{commandFor(address)}</pre>
        <CopyButton text={commandFor(address)} label={t`Copy the command`} />
      </div>
    </div>
  );
}
