import { useLingui } from "@lingui/react/macro";
import { Spline, Trash2, X } from "lucide-react";
import { FieldErrors, IconButton, Scroll, SelectField, TextField } from "@/ui";
import { changeEdge, reconnect, removeSelected } from "./actions";
import { canFail, outputsOf, typeOf } from "./catalogue";
import { useEditor, useFindings, useGraph, useIsReadOnly } from "./context";
import { EdgeOwner, ExpressionField } from "./ExpressionField";
import { focusOnNodes, focusOnShown } from "./keys";
import { canReconnect, type EdgeChange, type Ends, type GraphEdge } from "./model";
import { useOutputName } from "./NodeCard";
import { FindingList } from "./NodePanel";

const endsOf = ({ sourceNodeId, sourceOutputKey, targetNodeId }: Ends): Ends => ({ sourceNodeId, sourceOutputKey, targetNodeId });

/** Everything about one edge: when it is taken, and what flows along it. */
export function EdgePanel({ id, edge }: { id: string; edge: GraphEdge }) {
  const { t } = useLingui();
  const editor = useEditor();
  const isReadOnly = useIsReadOnly();
  const graph = useGraph();
  const { nodes, edges } = graph;
  const findings = useFindings("edge", id);
  const nameOf = useOutputName();
  const [source, target] = [nodes[edge.sourceNodeId], nodes[edge.targetNodeId]];
  if (!source || !target) return null;
  const members = Object.keys(typeOf(editor.types, source)?.outputSchema ?? {});
  const outputs = [...new Set(["", ...outputsOf(source, Object.values(edges)), ...(canFail(source) ? ["onError"] : []), ...members])];
  const change = (changed: EdgeChange) => changeEdge(editor, id, changed);
  const close = () => {
    editor.view.setState({ edges: [] });
    focusOnShown(id);
  };
  const remove = () => {
    removeSelected(editor);
    focusOnNodes();
  };
  /** The nodes at which an end of it could be. */
  const ends = (endsAt: (nodeId: string) => Ends, now: string) =>
    Object.fromEntries(
      Object.values(nodes)
        .filter((node) => node.id === now || canReconnect(graph, id, endsAt(node.id)))
        .map(({ id, name }) => [id, name]),
    );
  const from = (nodeId: string): Ends => ({
    ...edge,
    sourceNodeId: nodeId,
    sourceOutputKey: nodeId === edge.sourceNodeId ? edge.sourceOutputKey : undefined,
  });
  const to = (nodeId: string): Ends => ({ ...edge, targetNodeId: nodeId });
  return (
    <section aria-label={t`Edge`} className="flex min-h-0 flex-1 flex-col">
      <header className="flex items-center gap-2 border-b border-line py-2 pr-2 pl-4">
        <Spline aria-hidden className="size-4.5 shrink-0 text-accent" />
        <h2 className="min-w-0 flex-1 truncate font-semibold">
          {source.name} → {target.name}
        </h2>
        {!isReadOnly && <IconButton icon={Trash2} label={t`Delete the edge`} onClick={remove} />}
        <IconButton icon={X} label={t`Close`} onClick={close} />
      </header>
      <Scroll label={t`Configuration`} className="flex min-h-0 flex-1 flex-col gap-4 overflow-y-auto p-4">
        <FindingList findings={findings.filter(({ isWarning, path }) => isWarning || path === "")} />
        <FieldErrors value={Object.fromEntries(findings.filter(({ isWarning }) => !isWarning).map(({ path, message }) => [path, message]))}>
          <fieldset disabled={isReadOnly} className="flex min-w-0 flex-col gap-4">
            <div className="grid grid-cols-2 gap-3">
              <SelectField
                name="sourceNodeId"
                label={t`It leads from`}
                options={ends(from, source.id)}
                value={source.id}
                onChange={({ target }) => reconnect(editor, id, endsOf(from(target.value)))}
              />
              <SelectField
                name="targetNodeId"
                label={t`It leads to`}
                options={ends(to, target.id)}
                value={target.id}
                onChange={({ target }) => reconnect(editor, id, endsOf(to(target.value)))}
              />
            </div>
            <SelectField
              name="sourceOutputKey"
              label={t`It is taken`}
              options={Object.fromEntries(
                outputs.map((key) => [
                  key,
                  members.includes(key) ? t`with the member ${key}` : key === "" ? t`when the node has ended` : nameOf(key),
                ]),
              )}
              value={edge.sourceOutputKey ?? ""}
              onChange={({ target }) => change({ sourceOutputKey: target.value || undefined })}
            />
            <EdgeOwner value={id}>
              <ExpressionField
                name="condition"
                label={t`Only where`}
                optional
                help={t`An expression, such as result.total > 100.`}
                value={edge.condition ?? ""}
                onChange={(text) => change({ condition: text || undefined })}
              />
            </EdgeOwner>
            <TextField
              name="label"
              label={t`Label`}
              optional
              maxLength={255}
              value={edge.label ?? ""}
              onChange={({ target }) => change({ label: target.value || undefined })}
            />
            <TextField
              name="targetInputKey"
              label={t`Arrives as`}
              optional
              isCode
              maxLength={255}
              help={t`The member of the next node's input that gets the value.`}
              value={edge.targetInputKey ?? ""}
              onChange={({ target }) => change({ targetInputKey: target.value || undefined })}
            />
          </fieldset>
        </FieldErrors>
      </Scroll>
    </section>
  );
}
