import { useLingui } from "@lingui/react/macro";
import { CircleX, Trash2, X, Zap } from "lucide-react";
import { useEffect, useRef } from "react";
import { useTenant } from "@/api";
import { Button, FieldErrors, IconButton, Link, Scroll, TextArea, TextField } from "@/ui";
import { removeSelected } from "./actions";
import { calledWorkflow, canFail, iconOf, runsBody, startsRuns, typeOf } from "./catalogue";
import { useEditor, useFindings, useGraph, useIsReadOnly } from "./context";
import { FieldOwner } from "./ExpressionField";
import { Help, RemoveItem, SchemaFields } from "./fields";
import type { Finding } from "./findings";
import { focusOnNodes, focusOnShown } from "./keys";
import type { GraphNode, NodeChange } from "./model";
import { TryNode } from "./TryNode";
import { isRecord } from "./values";

/** What is wrong with fields, by their names. */
const errorsOf = (findings: Finding[]) =>
  Object.fromEntries(findings.filter(({ isWarning }) => !isWarning).map(({ path, message }) => [path, message]));

/** Everything about one node. */
export function NodePanel({ node }: { node: GraphNode }) {
  const { t } = useLingui();
  const editor = useEditor();
  const { may } = useTenant();
  const isReadOnly = useIsReadOnly();
  const findings = useFindings("node", node.id);
  const { edges } = useGraph();
  const type = typeOf(editor.types, node);
  const name = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (editor.view.getState().takesFocus) name.current?.select();
    editor.view.setState({ takesFocus: undefined });
  }, [editor.view]);
  const Icon = iconOf(node.type);
  const change = (changed: NodeChange, field: string) => editor.editing.run({ do: "change", node: node.id, change: changed }, `${node.id}:${field}`);
  const removeItem = (name: string, at: number) => {
    const isCase = node.type === "switch" && name === "config.cases";
    if (isCase) editor.editing.run({ do: "removeCase", node: node.id, at });
    return isCase;
  };
  const close = () => {
    editor.view.setState({ nodes: [] });
    focusOnShown(node.id);
  };
  const remove = () => {
    removeSelected(editor);
    focusOnNodes();
  };
  const schemas = { ...type?.configSchema };
  // A form says itself what it asks for.
  if (node.type === "input" && isRecord(node.config.form) && Object.keys(node.config.form).length > 0) {
    delete schemas.inputType;
    delete schemas.required;
  }
  const isShown = ({ path }: Finding) =>
    path === "name" ||
    path === "description" ||
    Object.keys(schemas).some((key) => path === `config.${key}` || path.startsWith(`config.${key}.`) || path.startsWith(`config.${key}[`));
  const others = findings.filter((one) => one.isWarning || !isShown(one));
  const handlesFailure = Object.values(edges).some(({ sourceNodeId, sourceOutputKey }) => sourceNodeId === node.id && sourceOutputKey === "onError");
  return (
    <section aria-label={node.name} className="flex min-h-0 flex-1 flex-col">
      <header className="flex items-center gap-2 border-b border-line py-2 pr-2 pl-4">
        <Icon aria-hidden className="size-4.5 shrink-0 text-accent" />
        <h2 className="min-w-0 flex-1 truncate font-semibold">{type?.name ?? node.type}</h2>
        {!isReadOnly && <IconButton icon={Trash2} label={t`Delete the node`} onClick={remove} />}
        <IconButton icon={X} label={t`Close`} onClick={close} />
      </header>
      <Scroll label={t`Configuration`} className="flex min-h-0 flex-1 flex-col gap-4 overflow-y-auto p-4">
        {type?.description && <p className="text-xs text-quiet">{type.description}</p>}
        {!type && <p className="text-danger">{t`There is no node type “${node.type}” any more: it is disabled, or was deleted.`}</p>}
        <FindingList findings={others} />
        <FieldOwner value={node.id}>
          <FieldErrors value={errorsOf(findings)}>
            {startsRuns(node.type) && may("triggers:read") && (
              <Button
                icon={Zap}
                label={t`Its triggers`}
                onClick={() => editor.view.setState({ isListingTriggers: true, nodes: [], edges: [], adding: undefined })}
              />
            )}
            <fieldset disabled={isReadOnly} className="flex min-w-0 flex-col gap-4">
              <TextField
                name="name"
                ref={name}
                label={t`Name`}
                value={node.name}
                maxLength={255}
                onChange={({ target }) => change({ name: target.value }, "name")}
              />
              <RemoveItem value={removeItem}>
                <SchemaFields
                  name="config"
                  schemas={schemas}
                  value={node.config}
                  onChange={(config) => change({ config: config as GraphNode["config"] }, "config")}
                />
              </RemoveItem>
              <CalledWorkflow node={node} />
              <TextArea
                name="description"
                label={t`Note`}
                optional
                help={<Help text={t`What the others should know. It stands on the node.`} />}
                rows={2}
                maxLength={1000}
                value={node.description ?? ""}
                onChange={({ target }) => change({ description: target.value || undefined }, "description")}
              />
              {canFail(node) && !runsBody(node.type) && !handlesFailure && (
                <Button
                  icon={CircleX}
                  label={t`Add what happens if it fails`}
                  onClick={() => editor.view.setState({ adding: { insertion: { after: node.id, output: "onError" } } })}
                />
              )}
            </fieldset>
          </FieldErrors>
        </FieldOwner>
        {may("workflows:write") && may("runs:start") && <TryNode node={node} />}
        <p className="text-xs text-quiet">
          {t`Expressions call it`} <code>nodes.{node.id}</code>
        </p>
      </Scroll>
    </section>
  );
}

/** Leads to the workflow that a node calls. */
function CalledWorkflow({ node: { config } }: { node: GraphNode }) {
  const { t } = useLingui();
  const { id: tenantId } = useTenant();
  const called = calledWorkflow(config);
  return called && <Link to={`/t/${tenantId}/workflows/${called}/editor`}>{t`Open the workflow that it calls`}</Link>;
}

/** Findings that belong to no field. */
export function FindingList({ findings }: { findings: Finding[] }) {
  if (findings.length === 0) return null;
  return (
    <ul className="flex flex-col gap-1.5">
      {findings.map(({ path, message, isWarning }) => (
        <li key={`${path} ${message}`} className={isWarning ? "text-warn" : "text-danger"}>
          {path && <code>{path}</code>} {message}
        </li>
      ))}
    </ul>
  );
}
