import { useLingui } from "@lingui/react/macro";
import { use, useEffect } from "react";
import { signedOut, signInAddress } from "@/api";
import { Badge, Button, type State } from "@/ui";
import { useEditor, useIsReadOnly, useSession } from "./context";
import { HostContext } from "./host";
import type { SaveState as Saving } from "./model";

/** Says whether what is shown is saved, and what to do where it cannot be. */
export function SaveState() {
  const { t } = useLingui();
  const { editing } = useEditor();
  const state = useSession((session) => session.save);
  const isReadOnly = useIsReadOnly();
  const save = isReadOnly && state === "saved" ? "readonly" : state;
  const failure = useSession((session) => session.failure);
  const isHosted = use(HostContext) !== null;
  useKeepWork();
  const said: Record<Saving, [State["tone"], string]> = {
    saved: ["ok", t`Saved`],
    unsaved: ["quiet", t`Not saved yet`],
    saving: ["quiet", t`Saving`],
    offline: ["warn", t`Offline: not saved yet`],
    signedOut: ["warn", t`You are signed out: nothing is lost`],
    conflict: ["danger", t`Somebody else changed the same`],
    ended: ["danger", t`Published or deleted meanwhile`],
    refused: ["danger", t`It cannot be saved like this`],
    readonly: ["quiet", t`Read only`],
  };
  const [tone, word] = said[save];
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2">
      <span role="status" title={save === "refused" && failure instanceof Error ? failure.message : undefined}>
        <Badge tone={tone}>{word}</Badge>
      </span>
      {save === "signedOut" && !isHosted && (
        <a href={signInAddress()} target="_blank" rel="noreferrer" className="text-accent underline">
          {t`Sign in in a new tab`}
        </a>
      )}
      {save === "ended" && <Button label={t`Go on in a new draft`} onClick={() => void editing.saveAsDraft()} />}
      {(save === "offline" || save === "refused" || save === "signedOut") && <Button label={t`Save now`} onClick={() => void editing.flush()} />}
    </div>
  );
}

/** Sees to it that nothing is lost where the page is left, hidden, or its session ends. */
function useKeepWork() {
  const { editing } = useEditor();
  useEffect(() => {
    const isDirty = () => ["unsaved", "saving", "offline", "conflict", "ended", "refused", "signedOut"].includes(editing.store.getState().save);
    const onLeave = (event: BeforeUnloadEvent) => isDirty() && event.preventDefault();
    const onHide = () => document.hidden && void editing.flush(true);
    const onBack = () => editing.store.getState().save === "signedOut" && void editing.flush();
    const onSignedOut = (event: Event) => isDirty() && event.preventDefault();
    const onOnline = () => void editing.flush();
    addEventListener("beforeunload", onLeave);
    addEventListener("focus", onBack);
    addEventListener("online", onOnline);
    addEventListener(signedOut, onSignedOut);
    document.addEventListener("visibilitychange", onHide);
    return () => {
      removeEventListener("beforeunload", onLeave);
      removeEventListener("focus", onBack);
      removeEventListener("online", onOnline);
      removeEventListener(signedOut, onSignedOut);
      document.removeEventListener("visibilitychange", onHide);
    };
  }, [editing]);
}
