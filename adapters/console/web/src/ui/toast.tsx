import { useLingui } from "@lingui/react/macro";
import { CircleCheck, TriangleAlert, X } from "lucide-react";
import { type ReactNode, useSyncExternalStore } from "react";
import { IconButton } from "./button";

type Toast = { id: number; text: ReactNode; isError: boolean };

let toasts: Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: Toast[]) {
  toasts = next;
  for (const one of listeners) one();
}

/** Says for a few seconds that something was done. */
export function toast(text: ReactNode) {
  add(text, false);
}

/** Says that something was not done, until somebody closes it. */
export function toastError(error: unknown) {
  add(error instanceof Error ? error.message : String(error), true);
}

/** Waits for a change, and says that it was done, or what went wrong. */
export async function attempt(change: Promise<unknown>, done: ReactNode) {
  try {
    await change;
    toast(done);
  } catch (failure) {
    toastError(failure);
  }
}

function add(text: ReactNode, isError: boolean) {
  const id = ++last;
  set([...toasts.slice(-3), { id, text, isError }]);
  if (!isError) setTimeout(() => set(toasts.filter((one) => one.id !== id)), 5_000);
}

export function Toasts() {
  const { t } = useLingui();
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <section
      aria-label={t`Notices`}
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 z-60 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2"
    >
      {shown.map(({ id, text, isError }) => (
        <div key={id} className="pointer-events-auto flex items-start gap-2 rounded-md border border-line bg-raised p-3 shadow-lg">
          {isError ? (
            <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-danger" />
          ) : (
            <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-ok" />
          )}
          <div className="min-w-0 flex-1 break-words">{text}</div>
          <IconButton label={t`Close`} icon={X} className="-m-1.5" onClick={() => set(toasts.filter((one) => one.id !== id))} />
        </div>
      ))}
    </section>
  );
}
