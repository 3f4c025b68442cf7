import { useLingui } from "@lingui/react/macro";
import { Dialog } from "@/ui";
import { shortcuts } from "@/ui/shortcuts";

/** Lists what keys do here. */
export default function Help({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  return (
    <Dialog title={t`Shortcuts`} onClose={onClose}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
        {shortcuts().map(({ keys, label }) => (
          <div key={keys} className="contents">
            <dt className="flex gap-1">
              {keys
                .replace("mod", /mac/i.test(navigator.userAgent) ? "⌘" : "Ctrl")
                .split(/[ +]/)
                .map((key) => (
                  <kbd key={key} className="min-w-6 rounded border border-strong-line px-1.5 text-center text-xs leading-5">
                    {key}
                  </kbd>
                ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
