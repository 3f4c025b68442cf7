import { Plural, Trans, useLingui } from "@lingui/react/macro";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { CopyButton } from "./copy";

/** A line of JSON as it is shown. */
export type JsonLine = { depth: number; path: string; name?: string; text: string; kind: "open" | "closed" | "end" | "value"; size: number };

const longest = 500;

/** The lines of a value, of which those at the paths that are open show what is in them. */
export function linesOf(value: unknown, isOpen: (path: string, depth: number) => boolean): JsonLine[] {
  const lines: JsonLine[] = [];
  const visit = (one: unknown, path: string, depth: number, name: string | undefined, comma: string) => {
    if (one === null || typeof one !== "object") {
      const text = JSON.stringify(one) ?? "null";
      lines.push({ depth, path, name, text: text + comma, kind: "value", size: 0 });
      return;
    }
    const isArray = Array.isArray(one);
    const keys = isArray ? one : Object.keys(one);
    const [begin, end] = isArray ? ["[", "]"] : ["{", "}"];
    const size = keys.length;
    if (size === 0) {
      lines.push({ depth, path, name, text: begin + end + comma, kind: "value", size });
      return;
    }
    if (!isOpen(path, depth)) {
      lines.push({ depth, path, name, text: `${begin}…${end}${comma}`, kind: "closed", size });
      return;
    }
    lines.push({ depth, path, name, text: begin, kind: "open", size });
    for (let at = 0; at < size; at++) {
      const key = isArray ? String(at) : (keys[at] as string);
      visit(
        isArray ? one[at] : (one as Record<string, unknown>)[key],
        `${path}/${key}`,
        depth + 1,
        isArray ? undefined : key,
        at < size - 1 ? "," : "",
      );
    }
    lines.push({ depth, path: `${path}/`, text: end + comma, kind: "end", size });
  };
  visit(value, "", 0, undefined, "");
  return lines;
}

/** JSON that can be opened and closed. Only the lines in sight are drawn, so that a megabyte does not hold the page up. */
export default function JsonView({ value, label }: { value: unknown; label: string }) {
  const { t } = useLingui();
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [whole, setWhole] = useState<ReadonlySet<string>>(new Set());
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? "null", [value]);
  const openTo = text.length > 20_000 ? 1 : 3;
  const lines = useMemo(() => linesOf(value, (path, depth) => depth < openTo !== toggled.has(path)), [value, toggled, openTo]);
  const parent = useRef<HTMLElement>(null);
  const rows = useVirtualizer({ count: lines.length, getScrollElement: () => parent.current, estimateSize: () => 20, overscan: 20 });
  const toggle = (path: string) => {
    const next = new Set(toggled);
    if (!next.delete(path)) next.add(path);
    setToggled(next);
  };
  return (
    <div className="relative rounded-md border border-line bg-bg">
      <div className="absolute top-1 right-3 z-10">
        <CopyButton text={text} label={t`Copy as JSON`} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by its focus */}
      <section ref={parent} aria-label={label} tabIndex={0} className="max-h-96 overflow-auto p-2 font-mono text-[13px] leading-5">
        <div style={{ height: rows.getTotalSize(), position: "relative" }}>
          {rows.getVirtualItems().map((row) => {
            const line = lines[row.index] as JsonLine;
            const isLong = line.text.length > longest && !whole.has(line.path);
            return (
              <div
                key={row.key}
                data-index={row.index}
                ref={rows.measureElement}
                className="absolute w-full"
                style={{ transform: `translateY(${row.start}px)` }}
              >
                <div className="flex items-start" style={{ paddingLeft: line.depth * 16 }}>
                  {line.kind === "open" || line.kind === "closed" ? (
                    <button
                      type="button"
                      aria-expanded={line.kind === "open"}
                      aria-label={line.name ?? t`Value`}
                      className="-ml-0.5 rounded text-quiet hover:text-text"
                      onClick={() => toggle(line.path)}
                    >
                      {line.kind === "open" ? <ChevronDown className="size-4" /> : <ChevronRight className="size-4" />}
                    </button>
                  ) : (
                    <span className="w-3.5 shrink-0" />
                  )}
                  <span className="min-w-0 break-all whitespace-pre-wrap">
                    {line.name !== undefined && <span className="text-info">{JSON.stringify(line.name)}: </span>}
                    {isLong ? `${line.text.slice(0, longest)}…` : line.text}
                    {isLong && (
                      <button type="button" className="ml-1 text-accent underline" onClick={() => setWhole(new Set(whole).add(line.path))}>
                        <Trans>all {line.text.length} characters</Trans>
                      </button>
                    )}
                    {line.kind === "closed" && (
                      <span className="ml-2 text-quiet">
                        <Plural value={line.size} one="# entry" other="# entries" />
                      </span>
                    )}
                  </span>
                </div>
              </div>
            );
          })}
        </div>
      </section>
    </div>
  );
}
