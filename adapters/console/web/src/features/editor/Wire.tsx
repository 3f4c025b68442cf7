import { useLingui } from "@lingui/react/macro";
import { BaseEdge, EdgeLabelRenderer, type EdgeProps, getBezierPath, useStore } from "@xyflow/react";
import { Plus } from "lucide-react";
import { memo } from "react";
import { useEditor, useFindings, useIsReadOnly, useView } from "./context";
import type { ShownEdge } from "./shown";

export const farAway = 0.5; // zoom, below which buttons are too small to be pressed

/** An edge, with its label and a button that puts a node in between. */
export const Wire = memo(function Wire({ id, selected, data, ...ends }: EdgeProps<ShownEdge>) {
  const { t } = useLingui();
  const { view } = useEditor();
  const isReadOnly = useIsReadOnly();
  const isNear = useStore(({ transform: [, , zoom] }) => zoom > farAway);
  const isBroken = useFindings("edge", id).some(({ isWarning }) => !isWarning);
  const [path, x, y] = getBezierPath(ends);
  const label = data?.edge.label ?? data?.edge.condition;
  const isFailure = data?.edge.sourceOutputKey === "onError";
  const isTaken = useView(({ simulated }) => simulated?.edges[id] === true);
  const stroke = isTaken ? "var(--ok)" : selected ? "var(--accent)" : isBroken || isFailure ? "var(--danger)" : "var(--strong-line)";
  return (
    <>
      <BaseEdge
        path={path}
        interactionWidth={isNear ? 24 : 0}
        style={{ stroke, strokeWidth: selected || isTaken ? 2.5 : 1.5, strokeDasharray: isFailure ? "5 4" : undefined }}
      />
      {isNear && (label || !isReadOnly) && (
        <EdgeLabelRenderer>
          <div
            className="nodrag nopan absolute flex max-w-44 items-center gap-1"
            style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}
          >
            {label && (
              <button
                type="button"
                title={label}
                className={`pointer-events-auto truncate rounded border bg-panel px-1.5 text-xs leading-5 ${selected ? "border-accent" : "border-line"}`}
                onClick={() => view.setState({ nodes: [], edges: [id], adding: undefined })}
              >
                {label}
              </button>
            )}
            {!isReadOnly && (
              <button
                type="button"
                aria-label={t`Insert a node between ${ends.source} and ${ends.target}`}
                title={t`Insert a node`}
                className="pointer-events-auto flex size-[20px] shrink-0 items-center justify-center rounded border border-strong-line bg-panel text-quiet hover:border-accent hover:text-accent"
                onClick={() => view.setState({ adding: { insertion: { edge: id } } })}
              >
                <Plus aria-hidden className="size-3.5" />
              </button>
            )}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
});
