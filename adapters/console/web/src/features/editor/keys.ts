import { useLingui } from "@lingui/react/macro";
import { type RefObject, useEffect } from "react";
import { hasOwnUndo, toast, useShortcut } from "@/ui";
import { copySelected, nudge, pasteText, removeSelected } from "./actions";
import { useEditor, useIsReadOnly } from "./context";
import { grid } from "./layout";

const arrows: Record<string, { x: number; y: number }> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

/** Gives the focus back to the button that a panel was opened by, once it is closed. */
export const focusOnButton = (id: "add" | "problems" | "simulate" | "triggers") => document.getElementById(id)?.focus();

/** Gives the focus back to a node or an edge, in the graph or in the list, and to all of them where it is out of view. */
export const focusOnShown = (id: string) =>
  (document.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`) ?? document.getElementById("nodes"))?.focus();

/** Gives the focus to the graph or the list: what had it was removed. */
export const focusOnNodes = () => document.getElementById("nodes")?.focus();

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && Boolean(target.closest("input, textarea, select, [contenteditable=true], [role=dialog], [role=alertdialog]"));

/** Undo and redo, wherever somebody is on the page. */
export function useHistoryKeys() {
  const { t } = useLingui();
  const { editing } = useEditor();
  const isReadOnly = useIsReadOnly();
  useShortcut(isReadOnly ? undefined : { keys: "mod+z", label: t`Undo`, run: editing.undo });
  useShortcut(isReadOnly ? undefined : { keys: "mod+y", label: t`Redo`, run: editing.redo });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || !event.shiftKey || event.key.toLowerCase() !== "z") return;
      if (hasOwnUndo(event.target)) return;
      event.preventDefault();
      editing.redo();
    };
    document.addEventListener("keydown", onKey, { capture: true });
    return () => document.removeEventListener("keydown", onKey, { capture: true });
  }, [editing]);
}

/** What keys do to what is selected, while nobody types. */
export function useCanvasKeys(box: RefObject<HTMLElement | null>) {
  const { t } = useLingui();
  const editor = useEditor();
  const isReadOnly = useIsReadOnly();
  useEffect(() => {
    const { view, editing } = editor;
    const canvas = box.current;
    const act = (event: KeyboardEvent) => {
      const { nodes, edges } = view.getState();
      const arrow = arrows[event.key];
      const focused = (event.target as Element | null)?.closest<HTMLElement>(".react-flow__node, .react-flow__edge");
      if (event.key === "Escape") view.setState({ nodes: [], edges: [], adding: undefined });
      else if ((event.key === "Enter" || event.key === " ") && focused && focused === event.target) {
        const id = focused.dataset.id ?? "";
        const isNode = focused.classList.contains("react-flow__node");
        view.setState({ nodes: isNode ? [id] : [], edges: isNode ? [] : [id], adding: undefined, takesFocus: true });
      } else if ((event.ctrlKey || event.metaKey) && event.key === "a")
        view.setState({ nodes: Object.keys(editing.store.getState().history.graph.nodes) });
      else if (isReadOnly) return;
      else if ((event.key === "Delete" || event.key === "Backspace") && nodes.length + edges.length > 0) removeSelected(editor);
      else if (arrow && nodes.length > 0) {
        const step = event.shiftKey ? 4 * grid : grid;
        nudge(editor, { x: arrow.x * step, y: arrow.y * step });
      } else return;
      event.preventDefault();
    };
    const onKey = (event: KeyboardEvent) => !isTyping(event.target) && act(event);
    const onCopy = (event: ClipboardEvent) => {
      if (isTyping(event.target) || String(getSelection())) return;
      const text = copySelected(editor);
      if (!text) return;
      event.clipboardData?.setData("text/plain", text);
      event.preventDefault();
      if (event.type === "cut" && !isReadOnly) removeSelected(editor);
    };
    const onPaste = (event: ClipboardEvent) => {
      if (isTyping(event.target) || isReadOnly) return;
      if (pasteText(editor, event.clipboardData?.getData("text/plain") ?? "")) event.preventDefault();
      else toast(t`What was copied are no nodes.`);
    };
    canvas?.addEventListener("keydown", onKey);
    document.addEventListener("copy", onCopy);
    document.addEventListener("cut", onCopy);
    document.addEventListener("paste", onPaste);
    return () => {
      canvas?.removeEventListener("keydown", onKey);
      document.removeEventListener("copy", onCopy);
      document.removeEventListener("cut", onCopy);
      document.removeEventListener("paste", onPaste);
    };
  }, [editor, isReadOnly, box, t]);
}
