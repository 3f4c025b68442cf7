import { useLingui } from "@lingui/react/macro";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { duration } from "@/ui";
import type { Entry } from "./history";
import { type Span, spansOf } from "./spans";

type Props = { entries: Entry[]; begin: number; end: number; nameOf: (nodeId: string) => string; onSelect: (nodeId: string) => void };

const looks: Record<Span["kind"], string> = { attempt: "bg-info", retry: "bg-warn opacity-50", pause: "bg-warn" };

/** What happened when: a row for each entry of the history, with the node's time as bars. Only rows in sight are drawn. */
export default function Timeline({ entries, begin, end, nameOf, onSelect }: Props) {
  const { t } = useLingui();
  const spans = useMemo(() => spansOf(entries, begin, end), [entries, begin, end]);
  const parent = useRef<HTMLElement>(null);
  const rows = useVirtualizer({ count: entries.length, getScrollElement: () => parent.current, estimateSize: () => 28, overscan: 15 });
  const whole = Math.max(1, end - begin);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by its focus
    <section ref={parent} aria-label={t`Timeline`} tabIndex={0} className="max-h-96 overflow-auto rounded-lg border border-line bg-panel p-2">
      <div style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((row) => {
          const entry = entries[row.index] as Entry;
          const ofNode = entry.nodeId && entry.type.startsWith("node.") ? (spans.get(entry.nodeId) ?? []) : [];
          return (
            <div key={row.key} className="absolute flex h-7 w-full items-center gap-2" style={{ transform: `translateY(${row.start}px)` }}>
              <span className="w-20 shrink-0 text-right whitespace-nowrap text-quiet tabular-nums">
                +{duration(new Date(entry.at).getTime() - begin)}
              </span>
              <code className="w-32 shrink-0 truncate">{entry.type}</code>
              {entry.nodeId ? (
                <button
                  type="button"
                  className="w-36 shrink-0 truncate text-left text-accent hover:underline"
                  onClick={() => onSelect(entry.nodeId as string)}
                >
                  {nameOf(entry.nodeId)}
                </button>
              ) : (
                <span className="w-36 shrink-0" />
              )}
              <span className="relative h-2.5 min-w-24 flex-1 rounded bg-hover">
                {ofNode.map((span) => (
                  <span
                    key={`${span.kind}-${span.from}`}
                    title={`${span.kind} ${duration(span.to - span.from)}`}
                    className={`absolute h-full min-w-0.5 rounded ${span.hasFailed ? "bg-danger" : looks[span.kind]}`}
                    style={{ left: `${(span.from / whole) * 100}%`, width: `${((span.to - span.from) / whole) * 100}%` }}
                  />
                ))}
              </span>
              <span className="w-1/4 truncate text-quiet max-md:hidden" title={entry.message}>
                {entry.message ?? entry.branch}
              </span>
            </div>
          );
        })}
      </div>
    </section>
  );
}
