import { Plural, useLingui } from "@lingui/react/macro";
import { Handle, type NodeProps, Position, useStore } from "@xyflow/react";
import { CircleAlert, Plus, SquareArrowOutUpRight, TriangleAlert } from "lucide-react";
import { type CSSProperties, memo } from "react";
import { type Schemas, useTenant } from "@/api";
import { nodeStates } from "@/parts";
import { Badge, Link, StateBadge } from "@/ui";
import { calledWorkflow, iconOf, runsBody } from "./catalogue";
import { useEditor, useFindings, useIsReadOnly, useView } from "./context";
import { card, outputTop } from "./layout";
import { handleOf, type ShownNode } from "./shown";

const borderOf = (isSelected: boolean, isBroken: boolean, isCurrent: boolean) =>
  isCurrent ? "border-info ring-2 ring-info" : isSelected ? "border-accent ring-1 ring-accent" : isBroken ? "border-danger" : "border-strong-line";

const useIsCurrent = (id: string) => useView(({ simulated }) => simulated?.current === id);

/** Where a node stands in the simulation, after the step that is shown. */
export function SimulatedStatus({ id }: { id: string }) {
  const status = useView(({ simulated }) => simulated?.nodes[id]);
  const calls = useView(({ simulated }) => simulated?.calls[id]);
  if (status) return <StateBadge of={nodeStates[status]} />;
  return (
    calls !== undefined && (
      <Badge tone="info">
        <Plural value={calls} one="# call" other="# calls" />
      </Badge>
    )
  );
}

const minReadableHeight = 25; // pixels, the height below which nobody reads a card

/** A node: what it is, where edges begin and end, and whether something is wrong with it. From far away it is a place alone. */
export const NodeCard = memo(function NodeCard({ data: { node, outputs }, selected, width, height }: NodeProps<ShownNode>) {
  const isReadable = useStore(({ transform: [, , zoom] }) => zoom * card.height >= minReadableHeight);
  const isBroken = useFindings("node", node.id).some(({ isWarning }) => !isWarning);
  const isCurrent = useIsCurrent(node.id);
  const border = borderOf(selected, isBroken, isCurrent);
  if (!isReadable) return <Placeholder id={node.id} style={{ width, height }} border={border} />;
  return (
    <div style={{ width, height }} className={`rounded-lg border bg-panel shadow-sm ${border}`}>
      <Head node={node} />
      <Ends outputs={outputs} id={node.id} isContainer={false} />
    </div>
  );
});

const colours: Record<Schemas["RunNodeStatus"], string> = {
  pending: "bg-panel",
  running: "bg-info",
  waiting: "bg-warn",
  completed: "bg-ok",
  failed: "bg-danger",
  skipped: "bg-bg",
  cancelled: "bg-bg",
};

/** A card that is too small to be read: one element, of which hundreds are drawn at once. Its colour says where it stands in the simulation. */
function Placeholder({ id, style, border }: { id: string; style: CSSProperties; border: string }) {
  const { i18n } = useLingui();
  const status = useView(({ simulated }) => simulated?.nodes[id]);
  return (
    <div style={style} className={`rounded-lg border ${colours[status ?? "pending"]} ${border}`}>
      {status && <span className="sr-only">{i18n._(nodeStates[status].word)}</span>}
    </div>
  );
}

/** A node that runs others for each of its items: they are within it. */
export const NodeBody = memo(function NodeBody({ data: { node, outputs, isEmpty }, selected, width, height }: NodeProps<ShownNode>) {
  const { t } = useLingui();
  const { view } = useEditor();
  const isReadOnly = useIsReadOnly();
  const isBroken = useFindings("node", node.id).some(({ isWarning }) => !isWarning);
  const isCurrent = useIsCurrent(node.id);
  return (
    <div
      style={{ width, height }}
      className={`rounded-lg border border-dashed bg-[color-mix(in_srgb,var(--accent)_5%,var(--bg))] ${borderOf(selected, isBroken, isCurrent)}`}
    >
      <div className="rounded-t-lg border-b border-line bg-panel">
        <Head node={node} />
      </div>
      {isEmpty && !isReadOnly && runsBody(node.type) && (
        <button
          type="button"
          className="nodrag absolute inset-x-6 top-[72px] bottom-[24px] flex items-center justify-center gap-1.5 rounded-md border border-dashed border-strong-line text-quiet hover:bg-hover hover:text-text"
          onClick={() => view.setState({ adding: { into: node.id } })}
        >
          <Plus aria-hidden className="size-4" /> {t`Add what runs for each item`}
        </button>
      )}
      <Ends outputs={outputs} id={node.id} isContainer />
    </div>
  );
});

function Head({ node }: { node: ShownNode["data"]["node"] }) {
  const { t } = useLingui();
  const { types } = useEditor();
  const findings = useFindings("node", node.id);
  const Icon = iconOf(node.type);
  const { id: tenantId } = useTenant();
  const called = calledWorkflow(node.config);
  const errors = findings.filter(({ isWarning }) => !isWarning).length;
  const isSimulated = useView(({ simulated }) => simulated !== undefined && (simulated.nodes[node.id] ?? simulated.calls[node.id]) !== undefined);
  const said = node.description || types.find(({ type }) => type === node.type)?.name || node.type;
  return (
    <div className="flex h-[54px] items-center gap-2.5 px-3">
      <Icon aria-hidden className="size-4.5 shrink-0 text-accent" />
      <div className="min-w-0 flex-1">
        <p className="truncate leading-5 font-medium">{node.name}</p>
        {isSimulated ? (
          <p className="truncate text-xs leading-4">
            <SimulatedStatus id={node.id} />
          </p>
        ) : (
          <p className="truncate text-xs leading-4 text-quiet">{said}</p>
        )}
      </div>
      {called && (
        <Link
          to={`/t/${tenantId}/workflows/${called}/editor`}
          aria-label={t`Open the workflow that ${node.name} calls`}
          className="nodrag flex size-[24px] items-center justify-center rounded text-quiet hover:bg-hover hover:text-accent"
        >
          <SquareArrowOutUpRight aria-hidden className="size-4" />
        </Link>
      )}
      {findings.length > 0 && (
        <span title={findings.map(({ path, message }) => `${path} ${message}`).join("\n")} className={errors > 0 ? "text-danger" : "text-warn"}>
          {errors > 0 ? <CircleAlert aria-hidden className="size-4" /> : <TriangleAlert aria-hidden className="size-4" />}
          <span className="sr-only">{errors > 0 ? t`has problems` : t`has warnings`}</span>
        </span>
      )}
    </div>
  );
}

/** What an output is called where a node has several. */
export function useOutputName() {
  const { t } = useLingui();
  return (key: string) => {
    const [, number] = key.match(/^case-(\d+)$/) ?? [];
    if (number) return t`Case ${Number(number) + 1}`;
    const names: Record<string, string> = {
      "": t`Then`,
      true: t`Yes`,
      false: t`No`,
      default: t`Otherwise`,
      onError: t`If it fails`,
      onSuccess: t`If it succeeds`,
    };
    return names[key] ?? key;
  };
}

/** A finger finds a handle around it, too. */
const handleLook =
  "after:absolute after:-inset-1 pointer-coarse:after:-inset-3.5 after:rounded-full !size-[10px] !rounded-full !border-2 !border-panel !bg-strong-line hover:!bg-accent";

function Ends({ outputs, id, isContainer }: { outputs: ShownNode["data"]["outputs"]; id: string; isContainer: boolean }) {
  const { t } = useLingui();
  const { view } = useEditor();
  const isReadOnly = useIsReadOnly();
  const nameOf = useOutputName();
  return (
    <>
      <Handle type="target" id="in" position={Position.Left} isConnectable={!isReadOnly} className={handleLook} style={{ top: 28 }} />
      {outputs.map(({ key, isUsed }, at) => {
        const top = outputTop(at, outputs.length, isContainer);
        return (
          <div key={key}>
            {outputs.length > 1 && !isContainer && (
              <span
                style={{ top: top - 9 }}
                className={`absolute right-3.5 max-w-40 truncate text-xs leading-4.5 ${key === "onError" ? "text-danger" : "text-quiet"}`}
              >
                {nameOf(key)}
              </span>
            )}
            <Handle type="source" id={handleOf(key)} position={Position.Right} isConnectable={!isReadOnly} className={handleLook} style={{ top }} />
            {!isUsed && !isReadOnly && (
              <button
                type="button"
                aria-label={outputs.length > 1 ? t`Add a node after ${id}: ${nameOf(key)}` : t`Add a node after ${id}`}
                title={t`Add a node`}
                style={{ top: top - 10 }}
                className="nodrag absolute -right-9 flex size-[20px] items-center justify-center rounded border border-strong-line bg-panel text-quiet before:absolute before:top-1/2 before:-left-3 before:w-3 before:border-t before:border-strong-line hover:border-accent hover:text-accent"
                onClick={(event) => {
                  event.stopPropagation();
                  view.setState({ adding: { insertion: { after: id, output: key || undefined } } });
                }}
              >
                <Plus aria-hidden className="size-3.5" />
              </button>
            )}
          </div>
        );
      })}
    </>
  );
}
