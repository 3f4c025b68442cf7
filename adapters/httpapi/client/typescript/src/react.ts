import { type CSSProperties, createElement, forwardRef, type Ref, useEffect, useImperativeHandle, useRef } from "react";
import type { EditorEvents, EditorTheme, EmbedToken, SluiceEditor as Editor } from "./editor.js";
import "./editor.js";

export type SluiceEditorProps = {
  embedId: string;
  workflowId: string;
  versionId?: string;
  /** Where the gateway is, such as `https://gateway.example`. */
  gateway: string;
  /** Gives what `POST /embed-tokens` answers your server with. */
  getToken: () => Promise<EmbedToken>;
  locale?: string;
  theme?: EditorTheme;
  readonly?: boolean;
  className?: string;
  style?: CSSProperties;
  onSaved?: (saved: EditorEvents["saved"]) => void;
  onPublished?: (published: EditorEvents["published"]) => void;
  onDirty?: (dirty: boolean) => void;
  onError?: (error: EditorEvents["error"]) => void;
};

/** `<sluice-editor>` as a component. Its ref has the methods of the element. */
export const SluiceEditor = forwardRef(function SluiceEditor(props: SluiceEditorProps, ref: Ref<Editor>) {
  const { embedId, workflowId, versionId, gateway, getToken, locale, theme, readonly, className, style } = props;
  const element = useRef<Editor>(null);
  const latest = useRef(props);
  latest.current = props;
  useImperativeHandle(ref, () => element.current as Editor);
  useEffect(() => {
    if (element.current) element.current.getToken = getToken;
  }, [getToken]);
  const wanted = JSON.stringify(theme ?? {});
  useEffect(() => {
    element.current?.setTheme(JSON.parse(wanted)).catch((error: Error) => latest.current.onError?.({ code: "theme", message: error.message }));
  }, [wanted]);
  useEffect(() => {
    const { current } = element;
    const hear = (event: Event) => {
      const { detail } = event as CustomEvent;
      const { onSaved, onPublished, onDirty, onError } = latest.current;
      if (event.type === "saved") onSaved?.(detail);
      else if (event.type === "published") onPublished?.(detail);
      else if (event.type === "dirty") onDirty?.(detail.dirty);
      else onError?.(detail);
    };
    const names = ["saved", "published", "dirty", "error"];
    for (const name of names) current?.addEventListener(name, hear);
    return () => {
      for (const name of names) current?.removeEventListener(name, hear);
    };
  }, []);
  return createElement("sluice-editor", {
    ref: element,
    "embed-id": embedId,
    "workflow-id": workflowId,
    "version-id": versionId,
    gateway,
    locale,
    readonly: readonly ? "" : undefined,
    class: className,
    style,
  });
});
