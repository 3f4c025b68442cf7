import { Plural, Trans, useLingui } from "@lingui/react/macro";
import { Repeat } from "lucide-react";
import type { Schemas } from "@/api";
import { nodeStates } from "@/parts";
import { Button, inputLook, Json, Section, StateBadge, Time } from "@/ui";

type Node = Schemas["RunNode"];
type Props = {
  node: Node;
  nodes: Node[];
  nameOf: (nodeId: string) => string;
  onSelect: (nodeId: string) => void;
  onRerun?: () => void;
  isBusy: boolean;
};

/** What became of one node: what it got and gave, its log and its error. */
export function NodePanel({ node, nodes, nameOf, onSelect, onRerun, isBusy }: Props) {
  const { t } = useLingui();
  return (
    <Section title={t`Node`} actions={onRerun && <Button icon={Repeat} label={t`Run again from here`} isBusy={isBusy} onClick={onRerun} />}>
      <div className="flex flex-col gap-3 rounded-lg border border-line bg-panel p-4">
        <div className="flex flex-wrap items-center gap-3">
          <select
            aria-label={t`Node`}
            className={`${inputLook} !w-auto max-w-full`}
            value={node.nodeId}
            onChange={(event) => onSelect(event.target.value)}
          >
            {nodes.map(({ nodeId }) => (
              <option key={nodeId} value={nodeId}>
                {nameOf(nodeId)}
              </option>
            ))}
          </select>
          <StateBadge of={nodeStates[node.status]} />
          {node.attempts > 0 && (
            <span className="text-quiet">
              <Plural value={node.attempts} one="# attempt" other="# attempts" />
            </span>
          )}
          {node.nextAttemptAt && (
            <span className="text-quiet">
              <Trans>
                next attempt <Time at={node.nextAttemptAt} />
              </Trans>
            </span>
          )}
          {node.waiting?.until && (
            <span className="text-quiet">
              <Trans>
                waits until <Time at={node.waiting.until} />
              </Trans>
            </span>
          )}
        </div>
        {node.error && (
          <p className="break-words text-danger">
            <code>{node.error.code}</code> {node.error.message}
          </p>
        )}
        <div className="grid gap-3 lg:grid-cols-2">
          <Value title={t`Input`} value={node.input} note={node.inputOmitted && t`It is left out: ${node.inputOmitted}`} />
          <Value title={t`Output`} value={node.output} />
        </div>
        {node.log && node.log.length > 0 && (
          <div>
            <h3 className="font-medium">{t`Log`}</h3>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by its focus */}
            <pre tabIndex={0} className="max-h-60 overflow-auto rounded-md border border-line bg-bg p-2 font-mono text-[13px] whitespace-pre-wrap">
              {node.log.join("\n")}
            </pre>
          </div>
        )}
      </div>
    </Section>
  );
}

function Value({ title, value, note }: { title: string; value: unknown; note?: string }) {
  if (value === undefined && !note) return null;
  return (
    <div className="min-w-0">
      <h3 className="mb-1 font-medium">{title}</h3>
      {note ? <p className="text-quiet">{note}</p> : <Json label={title} value={value} />}
    </div>
  );
}
