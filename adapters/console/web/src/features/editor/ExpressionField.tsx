import { useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { createContext, lazy, type ReactNode, Suspense, use, useCallback, useEffect, useMemo, useState } from "react";
import { useTenant } from "@/api";
import { Field, FieldErrors, inputLook } from "@/ui";
import type { Complete } from "./CodeEditor";
import { useIsReadOnly, useSession } from "./context";

export const loadCodeEditor = () => import("./CodeEditor");
const CodeEditor = lazy(loadCodeEditor);

/** The node whose fields are shown. */
export const FieldOwner = createContext("");

type Props = {
  name: string;
  label: string;
  help?: ReactNode;
  optional: boolean;
  value: string;
  onChange: (text: string) => void;
  /** Whether it is code of several lines, of which the server says no value. */
  isProgram: boolean;
};

/** A field for an expression: the server says what could come next, and what it gives with the data of the last run. */
export function ExpressionField({ name, label, value, onChange, isProgram, ...rest }: Props) {
  const isReadOnly = useIsReadOnly();
  const complete = useComplete(name);
  return (
    <Field {...{ name, label, ...rest }}>
      {({ id, ...field }) => {
        const described = field["aria-describedby"];
        const attributes = {
          id,
          "aria-label": label,
          "aria-multiline": "true",
          ...(described && { "aria-describedby": described }),
          ...(field["aria-invalid"] && { "aria-invalid": "true" }),
        };
        const plain = (
          <textarea
            id={id}
            aria-label={label}
            rows={2}
            className={`${inputLook} font-mono`}
            spellCheck={false}
            disabled={isReadOnly}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        );
        return (
          <>
            <Suspense fallback={plain}>
              <CodeEditor
                value={value}
                onChange={onChange}
                complete={isReadOnly || isProgram ? undefined : complete}
                attributes={attributes}
                isReadOnly={isReadOnly}
                isTall={isProgram}
              />
            </Suspense>
            {!isReadOnly && !isProgram && value.trim() !== "" && <Result name={name} text={value} />}
          </>
        );
      }}
    </Field>
  );
}

/** Asks about a text of the node. One that the server has not got yet cannot be asked about. */
function useComplete(field: string): Complete {
  const { client } = useTenant();
  const nodeId = use(FieldOwner);
  const versionId = useSession((session) => session.versionId);
  const isKnown = useSession(({ base }) => nodeId in base.nodes);
  return useCallback(
    async (text, position, signal) => {
      if (!isKnown) return undefined;
      const params = { path: { id: versionId } };
      return (await client.POST("/workflow-versions/{id}/complete", { params, body: { nodeId, field, text, position }, signal })).data;
    },
    [client, versionId, isKnown, nodeId, field],
  );
}

/** What an expression gives with the data of the last run, or at least of which type that is. */
function Result({ name, text }: { name: string; text: string }) {
  const { t } = useLingui();
  const { client } = useTenant();
  const nodeId = use(FieldOwner);
  const error = use(FieldErrors)[name];
  const versionId = useSession((session) => session.versionId);
  const etag = useSession((session) => session.etag);
  const isKnown = useSession(({ base }) => nodeId in base.nodes);
  const [asked, setAsked] = useState(text);
  useEffect(() => {
    const timer = setTimeout(setAsked, 400, text);
    return () => clearTimeout(timer);
  }, [text]);
  const { data } = useQuery({
    queryKey: ["editor", "complete", versionId, etag, nodeId, name, asked],
    enabled: isKnown && asked.trim() !== "",
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
    queryFn: async ({ signal }) => {
      const params = { path: { id: versionId } };
      return (await client.POST("/workflow-versions/{id}/complete", { params, body: { nodeId, field: name, text: asked }, signal })).data ?? null;
    },
  });
  const value = useMemo(() => (data?.value === undefined ? undefined : JSON.stringify(data.value)), [data]);
  if (!data) return null;
  if (data.problem) return error ? null : <p className="text-xs text-warn">{data.problem.message}</p>;
  return (
    <p className="flex min-w-0 items-baseline gap-2 text-xs text-quiet">
      {value !== undefined && (
        <>
          <span className="shrink-0">{t`Last time it gave`}</span>
          <code title={value.slice(0, 2000)} className="min-w-0 truncate text-text">
            {value.slice(0, 300)}
          </code>
        </>
      )}
      {data.type && <code className="max-w-40 shrink-0 truncate">{data.type}</code>}
    </p>
  );
}
