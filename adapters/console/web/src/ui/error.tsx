import { useLingui } from "@lingui/react/macro";
import { TriangleAlert } from "lucide-react";
import { Component, type ReactNode } from "react";
import { Button } from "./button";
import { CopyButton } from "./copy";

type Known = { message: string; code?: string; requestId?: string; fields?: Record<string, string> };

function known(error: unknown): Known {
  if (error && typeof error === "object" && "message" in error) return error as Known;
  return { message: String(error) };
}

/** What is wrong with each field of a form, by its path. */
export const fieldsOf = (error: unknown): Record<string, string> => (error ? (known(error).fields ?? {}) : {});

/** Says what went wrong, and the identifier of the request, by which the operator finds it in the log. Of fields it names those in `only`, or all. */
export function ErrorPanel({ error, onRetry, only }: { error: unknown; onRetry?: () => void; only?: string[] }) {
  const { t } = useLingui();
  const { message, code, requestId, fields } = known(error);
  const isNetwork = error instanceof TypeError;
  const named = Object.entries(fields ?? {}).filter(([field]) => !only || only.includes(field));
  return (
    <div role="alert" className="flex flex-wrap gap-3 rounded-md border border-danger bg-panel p-3">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-danger" />
      <div className="min-w-32 flex-1">
        <p className="font-medium break-words">{isNetwork ? t`The gateway does not answer. Check the connection and try again.` : message}</p>
        {named.length > 0 && (
          <ul className="list-disc pl-5">
            {named.map(([field, text]) => (
              <li key={field}>
                <code>{field}</code>: {text}
              </li>
            ))}
          </ul>
        )}
        {requestId && (
          <p className="mt-1 flex flex-wrap items-center gap-1 text-quiet">
            {t`Request`} <code className="break-all">{requestId}</code> <CopyButton text={requestId} label={t`Copy the request's identifier`} />
            {code && <code>{code}</code>}
          </p>
        )}
      </div>
      {onRetry && <Button label={t`Try again`} onClick={onRetry} />}
    </div>
  );
}

/** Shows an error of a page instead of an empty window. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="p-4">
        <ErrorPanel error={this.state.error} onRetry={() => this.setState({ error: null })} />
      </div>
    );
  }
}
