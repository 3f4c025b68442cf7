import { Plural, useLingui } from "@lingui/react/macro";
import { type Ref, useRef } from "react";
import type { Schemas } from "@/api";
import { nodeStates, runStates } from "@/parts";
import { inputLook, StateBadge } from "@/ui";
import type { Graph } from "./model";
import { Value } from "./Value";

export type ItemPlace = Schemas["ItemPlace"];
type Props = {
  simulation: Schemas["Simulation"];
  graph: Graph;
  /** The node whose items they are. */
  nodeId: string;
  /** Which item is shown, with those that it is within. */
  shown: ItemPlace[];
  isDisabled: boolean;
  onShow: (item: ItemPlace[]) => void;
};

/** One item of a node that runs a body: which, and what each node of the body got and gave for it. */
export function SimulatedItems({ simulation, graph, nodeId, shown, isDisabled, onShow }: Props) {
  const { t } = useLingui();
  const panel = useRef<HTMLElement>(null);
  const choice = useRef<HTMLSelectElement>(null);
  const loop = simulation.loops.find((one) => one.nodeId === nodeId);
  if (!loop || loop.items.length === 0) return null;
  const isOwn = shown[0]?.nodeId === nodeId;
  const { item } = simulation;
  const outer = shown.at(-2);
  const nameOf = (id: string) => graph.nodes[id]?.name ?? id;
  return (
    <section
      ref={panel}
      tabIndex={-1}
      aria-label={t`Items of ${nameOf(nodeId)}`}
      className="flex min-w-0 flex-col gap-2 rounded-md border border-line p-3"
    >
      <ChooseItem
        ref={choice}
        loop={loop}
        label={t`Item of ${nameOf(nodeId)}`}
        chosen={isOwn ? shown[0] : undefined}
        isDisabled={isDisabled}
        onShow={(place) => onShow([place])}
      />
      {isOwn && outer && (
        <>
          <p className="font-medium break-words">{shown.map((place) => `${nameOf(place.nodeId)} #${place.index}`).join(" › ")}</p>
          <button
            type="button"
            className="self-start text-accent underline disabled:text-quiet"
            disabled={isDisabled}
            onClick={() => {
              choice.current?.focus();
              onShow(shown.slice(0, -1));
            }}
          >
            {t`Back to ${nameOf(outer.nodeId)} #${outer.index}`}
          </button>
        </>
      )}
      {isOwn && !item && (
        <p className="text-quiet">{t`There is nothing to see of this item: another one fails first, or it is not there any more.`}</p>
      )}
      {isOwn && item && (
        <>
          <p className="flex flex-wrap items-center gap-2">
            <StateBadge of={runStates[item.status]} />
            {item.error && <span className="break-words text-danger">{item.error.message}</span>}
          </p>
          {item.nodes
            .filter(({ status }) => status !== "pending")
            .map((node) => {
              const inner = item.loops.find((one) => one.nodeId === node.nodeId);
              return (
                <details key={node.nodeId} open={node.status === "failed"} className="min-w-0 rounded-md border border-line">
                  <summary className="px-3 py-1.5">
                    <span className="font-medium">{nameOf(node.nodeId)}</span> <StateBadge of={nodeStates[node.status]} />
                  </summary>
                  <div className="flex flex-col gap-3 p-3 pt-1">
                    {node.error && <p className="break-words text-danger">{node.error.message}</p>}
                    {inner && inner.items.length > 0 && (
                      <ChooseItem
                        loop={inner}
                        label={t`Item of ${nameOf(node.nodeId)}`}
                        isDisabled={isDisabled}
                        onShow={(place) => {
                          panel.current?.focus(); // the list goes with the item that it is of
                          onShow([...shown, place]);
                        }}
                      />
                    )}
                    <div className="grid gap-3 lg:grid-cols-2">
                      <Value title={t`Input`} label={t`Input of ${nameOf(node.nodeId)}`} value={node.input} />
                      <Value title={t`Output`} label={t`Output of ${nameOf(node.nodeId)}`} value={node.output} />
                    </div>
                  </div>
                </details>
              );
            })}
        </>
      )}
    </section>
  );
}

type ChooseProps = {
  ref?: Ref<HTMLSelectElement>;
  loop: Schemas["SimulatedItems"];
  label: string;
  chosen?: ItemPlace;
  isDisabled: boolean;
  onShow: (item: ItemPlace) => void;
};

/** Those that failed come first. */
function ChooseItem({ ref, loop: { nodeId, count, items }, label, chosen, isDisabled, onShow }: ChooseProps) {
  const { t, i18n } = useLingui();
  return (
    <>
      <select
        ref={ref}
        aria-label={label}
        className={inputLook}
        disabled={isDisabled}
        value={chosen?.index ?? ""}
        onChange={({ target }) => target.value && onShow({ nodeId, index: Number(target.value) })}
      >
        <option value="">
          <Plural value={count} one="Look at the item" other="Look at one of # items" />
        </option>
        {items.map(({ index, status }) => (
          <option key={index} value={index}>
            #{index} · {i18n._(runStates[status].word)}
          </option>
        ))}
      </select>
      {items.length < count && <p className="text-xs text-quiet">{t`${items.length} of ${count} items are listed, those that failed first.`}</p>}
    </>
  );
}
