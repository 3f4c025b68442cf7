import { useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, lazy, type ReactNode, Suspense, use, useCallback, useEffect, useMemo, useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { Field, FieldErrors, inputLook } from "@/ui";
import type { Complete } from "./CodeEditor";
import { useEditor, useIsReadOnly, useSession } from "./context";
import { edgeIdsOf } from "./model";

export const loadCodeEditor = () => import("./CodeEditor");
const CodeEditor = lazy(loadCodeEditor);

/** The node whose fields are shown. */
export const FieldOwner = createContext("");
/** The edge whose fields are shown, where it is no node. */
export const EdgeOwner = createContext("");

type CodeProps = {
  /** The path of the text in the node or on the edge. */
  name: string;
  label: string;
  value: string;
  onChange: (text: string) => void;
  /** Whether it is code of several lines, of which the server says no value. */
  isProgram?: boolean;
  /** Whether it is text with expressions in it: {{ … }}. */
  isTemplate?: boolean;
  /** Whether it is handed over as it is, so that there is nothing to ask the server. */
  isLiteral?: boolean;
  isLine?: boolean;
  placeholder?: string;
  field?: { id?: string; "aria-describedby"?: string; "aria-invalid"?: true };
};

/** An editor for an expression, or for text with some: the server says what could come next, and what it gives with the data of the last run. */
export function Code({ name, label, value, onChange, isProgram = false, isLiteral = false, field = {}, ...rest }: CodeProps) {
  const isReadOnly = useIsReadOnly();
  const complete = useComplete(name);
  const { id, "aria-describedby": described, "aria-invalid": isInvalid } = field;
  const attributes = {
    ...(id && { id }),
    "aria-label": label,
    "aria-multiline": String(!rest.isLine),
    ...(described && { "aria-describedby": described }),
    ...(isInvalid && { "aria-invalid": "true" }),
  };
  const plain = (
    <textarea
      id={id}
      aria-label={label}
      rows={rest.isLine ? 1 : 2}
      className={`${inputLook} font-mono`}
      spellCheck={false}
      disabled={isReadOnly}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  );
  const isAsked = !isReadOnly && !isProgram && !isLiteral;
  return (
    <>
      <Suspense fallback={plain}>
        <CodeEditor
          {...rest}
          value={value}
          onChange={onChange}
          complete={isAsked ? complete : undefined}
          attributes={attributes}
          isReadOnly={isReadOnly}
          isTall={isProgram}
        />
      </Suspense>
      {isAsked && (rest.isTemplate ? value.includes("{{") : value.trim() !== "") && <Result name={name} text={value} />}
    </>
  );
}

type Props = Omit<CodeProps, "field"> & { help?: ReactNode; optional: boolean };

/** A field with such an editor. */
export function ExpressionField({ name, label, help, optional, ...rest }: Props) {
  return <Field {...{ name, label, help, optional }}>{(field) => <Code {...{ name, label, field }} {...rest} />}</Field>;
}

type Asked = Pick<Schemas["CompleteExpression"], "nodeId" | "edgeId">;

/** Finds out how the server calls the node or the edge that is edited. One that it has not got yet cannot be asked about. */
function useAsked(): () => Promise<Asked | undefined> {
  const { client } = useTenant();
  const queries = useQueryClient();
  const { editing } = useEditor();
  const nodeId = use(FieldOwner);
  const edge = use(EdgeOwner);
  return useCallback(async () => {
    const { base, versionId, etag } = editing.store.getState();
    if (!edge) return nodeId in base.nodes ? { nodeId } : undefined;
    if (!(edge in base.edges)) return undefined;
    const ids = await queries.fetchQuery({
      queryKey: ["editor", "edges", versionId, etag],
      staleTime: Number.POSITIVE_INFINITY,
      queryFn: async () => {
        const { data } = await client.GET("/workflow-versions/{id}", { params: { path: { id: versionId } }, cache: "no-store" });
        return edgeIdsOf(data?.edges ?? []);
      },
    });
    return ids[edge] === undefined ? undefined : { edgeId: ids[edge] };
  }, [client, queries, editing, nodeId, edge]);
}

function useComplete(field: string): Complete {
  const { client } = useTenant();
  const versionId = useSession((session) => session.versionId);
  const ask = useAsked();
  return useCallback(
    async (text, position, signal) => {
      const asked = await ask();
      if (!asked) return undefined;
      const params = { path: { id: versionId } };
      return (await client.POST("/workflow-versions/{id}/complete", { params, body: { ...asked, field, text, position }, signal })).data;
    },
    [client, versionId, ask, field],
  );
}

/** What an expression gives with the data of the last run, or at least of which type that is. */
function Result({ name, text }: { name: string; text: string }) {
  const { t } = useLingui();
  const { client } = useTenant();
  const owner = use(FieldOwner) || use(EdgeOwner);
  const error = use(FieldErrors)[name];
  const versionId = useSession((session) => session.versionId);
  const etag = useSession((session) => session.etag);
  const isKnown = useSession(({ base }) => owner in base.nodes || owner in base.edges);
  const ask = useAsked();
  const [written, setWritten] = useState(text);
  useEffect(() => {
    const timer = setTimeout(setWritten, 400, text);
    return () => clearTimeout(timer);
  }, [text]);
  const { data } = useQuery({
    queryKey: ["editor", "complete", versionId, etag, owner, name, written],
    enabled: isKnown && written.trim() !== "",
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
    queryFn: async ({ signal }) => {
      const asked = await ask();
      if (!asked) return null;
      const params = { path: { id: versionId } };
      return (await client.POST("/workflow-versions/{id}/complete", { params, body: { ...asked, field: name, text: written }, signal })).data ?? null;
    },
  });
  const value = useMemo(() => (data?.value === undefined ? undefined : JSON.stringify(data.value)), [data]);
  if (!data) return null;
  if (data.problem) return error ? null : <p className="text-xs text-warn">{data.problem.message}</p>;
  return (
    <p className="flex min-w-0 flex-wrap items-baseline gap-x-2 text-xs text-quiet">
      {value !== undefined && (
        <>
          <span className="shrink-0">{t`Last time it gave`}</span>
          <code title={value.slice(0, 2000)} className="max-w-full min-w-0 truncate text-text">
            {value.slice(0, 300)}
          </code>
        </>
      )}
      {data.type && <code className="max-w-40 shrink-0 truncate">{data.type}</code>}
    </p>
  );
}
