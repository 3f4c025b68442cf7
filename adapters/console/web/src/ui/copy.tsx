import { useLingui } from "@lingui/react/macro";
import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { IconButton } from "./button";

/** Copies a text. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { t } = useLingui();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <>
      <IconButton label={label ?? t`Copy`} icon={isCopied ? Check : Copy} onClick={() => void copy()} />
      <span role="status" className="sr-only">
        {isCopied ? t`Copied` : ""}
      </span>
    </>
  );
}

/** An identifier, which can be copied. */
export function Identifier({ id }: { id: string }) {
  return (
    <span className="inline-flex max-w-full items-center gap-0.5">
      <code className="truncate text-quiet" title={id}>
        {id}
      </code>
      <CopyButton text={id} />
    </span>
  );
}

/** A text that is shown this once, such as a key. */
export function ShownOnce({ text, label }: { text: string; label: string }) {
  return (
    <div data-shown-once className="flex items-center gap-1 rounded-md border border-strong-line bg-bg p-2">
      <span className="sr-only">{label}</span>
      <code className="min-w-0 flex-1 font-mono break-all select-all">{text}</code>
      <CopyButton text={text} />
    </div>
  );
}
