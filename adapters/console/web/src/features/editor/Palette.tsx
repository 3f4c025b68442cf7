import { useLingui } from "@lingui/react/macro";
import { Search } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { inputLook } from "@/ui";
import { addNode } from "./actions";
import { findTypes, iconOf, recentTypes } from "./catalogue";
import { useEditor, useView } from "./context";

export const dragged = "application/x-sluice-node";

/** Everything that a workflow can be built of: to be searched, clicked, or dragged onto the canvas. */
export function Palette() {
  const { t } = useLingui();
  const editor = useEditor();
  const [text, setText] = useState("");
  const isAsked = useView(({ adding }) => adding !== undefined);
  const recent = useMemo(recentTypes, []);
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isAsked) search.current?.focus();
  }, [isAsked]);
  const found = findTypes(editor.types, text, recent);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="relative p-3 pb-2">
        <Search aria-hidden className="absolute top-5.5 left-5.5 size-4 text-quiet" />
        <input
          ref={search}
          type="search"
          data-own-undo
          aria-label={t`Search nodes`}
          placeholder={t`Search nodes`}
          className={`${inputLook} pl-8`}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={({ key }) => key === "Enter" && found[0] && addNode(editor, found[0])}
        />
      </div>
      <ul className="min-h-0 flex-1 overflow-y-auto px-2 pb-3">
        {found.map((entry) => {
          const Icon = iconOf(entry.type);
          return (
            <li key={`${entry.type} ${entry.version}`}>
              <button
                type="button"
                draggable
                onDragStart={({ dataTransfer }) => {
                  dataTransfer.setData(dragged, entry.type);
                  dataTransfer.effectAllowed = "copy";
                }}
                onClick={() => addNode(editor, entry)}
                className="flex w-full cursor-grab items-start gap-2.5 rounded-md px-2 py-2 text-left hover:bg-hover"
              >
                <span aria-hidden className="flex size-8 shrink-0 items-center justify-center rounded-md border border-line bg-bg text-accent">
                  <Icon className="size-4" />
                </span>
                <span className="min-w-0">
                  <span className="block font-medium">{entry.name}</span>
                  <span className="line-clamp-2 text-xs text-quiet">{entry.description}</span>
                </span>
              </button>
            </li>
          );
        })}
        {found.length === 0 && <li className="px-2 py-4 text-quiet">{t`No node has these words in its name or description.`}</li>}
      </ul>
    </div>
  );
}
