import { useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { Badge, Dialog, Empty, ErrorPanel, inputLook, Skeleton } from "@/ui";
import { type Change, changesOf } from "./changes";
import { useEditor, useGraph, useSession } from "./context";
import { graphOf } from "./model";
import { textOfValue } from "./values";

/** Compares what is shown with another version of the workflow. */
export default function Compare({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { workflowId } = useEditor();
  const graph = useGraph();
  const versionId = useSession((session) => session.versionId);
  const versions = api.useQuery("get", "/workflow-versions", { params: { query: { workflowId, limit: 50 } } });
  const others = versions.data?.items.filter(({ id }) => id !== versionId) ?? [];
  const [chosen, setChosen] = useState("");
  const other = others.find(({ id }) => id === chosen) ?? others.find(({ isActive }) => isActive) ?? others[0];
  const nameOf = ({ version, isActive, publishedAt }: Schemas["WorkflowVersion"]) =>
    isActive ? t`Version ${version}, active` : publishedAt ? t`Version ${version}` : t`Draft ${version}`;
  const changes = other ? changesOf(graphOf(other), graph) : [];
  return (
    <Dialog
      title={t`Compare versions`}
      description={t`What is different since the other version. Where nodes stand does not count.`}
      isWide
      onClose={onClose}
    >
      {versions.error ? <ErrorPanel error={versions.error} onRetry={() => void versions.refetch()} /> : !versions.data && <Skeleton />}
      {versions.data && !other && <Empty title={t`There is no other version`} />}
      {other && (
        <div className="flex flex-col gap-4">
          <label className="flex items-center gap-2">
            <span className="shrink-0 font-medium">{t`Compared with`}</span>
            <select className={inputLook} value={other.id} onChange={({ target }) => setChosen(target.value)}>
              {others.map((one) => (
                <option key={one.id} value={one.id}>
                  {nameOf(one)}
                </option>
              ))}
            </select>
          </label>
          {changes.length === 0 && <Empty title={t`Both are the same`} />}
          <ul className="flex flex-col gap-2">
            {changes.map((change) => (
              <Row key={`${change.of} ${change.kind} ${change.name}`} change={change} />
            ))}
          </ul>
        </div>
      )}
    </Dialog>
  );
}

function Row({ change: { of, name, kind, members } }: { change: Change }) {
  const { t } = useLingui();
  const tone = { added: "ok", removed: "danger", changed: "info" } as const;
  const word = { added: t`Added`, removed: t`Removed`, changed: t({ message: "Changed", context: "a part" }) };
  return (
    <li className="rounded-md border border-line p-3">
      <p className="flex flex-wrap items-center gap-x-3">
        <Badge tone={tone[kind]}>{word[kind]}</Badge>
        <span className="font-medium">{name}</span>
        <span className="text-quiet">{of === "node" ? t`Node` : t`Edge`}</span>
      </p>
      {members.map(({ path, before, after }) => (
        <div key={path} className="mt-2">
          <code className="text-quiet">{path}</code>
          {before !== undefined && <Side sign="−" tone="text-danger" text={textOfValue(before)} />}
          {after !== undefined && <Side sign="+" tone="text-ok" text={textOfValue(after)} />}
        </div>
      ))}
    </li>
  );
}

const Side = ({ sign, tone, text }: { sign: string; tone: string; text: string }) => (
  <pre className={`overflow-hidden rounded bg-bg px-2 py-0.5 text-xs break-words whitespace-pre-wrap ${tone}`}>
    {sign} {text}
  </pre>
);
