import { useLingui } from "@lingui/react/macro";
import { FlaskConical, Pin, PinOff } from "lucide-react";
import { useState } from "react";
import { useTenant } from "@/api";
import { Badge, Button, ErrorPanel, inputLook, Json, toast } from "@/ui";
import { useEditor, useIsReadOnly, useSession } from "./context";
import type { GraphNode } from "./model";
import { readValue, textOfValue } from "./values";

const notTried = new Set(["input", "wait", "waitForEvent", "callWorkflow", "forEach", "trigger_webhook", "trigger_schedule"]);

/** Executes one node by itself, and keeps what it gave as sample data for those behind it. */
export function TryNode({ node }: { node: GraphNode }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { editing } = useEditor();
  const isReadOnly = useIsReadOnly();
  const versionId = useSession((session) => session.versionId);
  const pin = useSession(({ history }) => history.graph.pins[node.id]);
  const [input, setInput] = useState("");
  const test = api.useMutation("post", "/workflow-versions/{id}/nodes/{nodeId}/test");
  const put = (value: unknown) => editing.run({ do: "pin", node: node.id, value });
  const start = async () => {
    if (!(await editing.flush())) return toast(t`The last changes could not be saved.`);
    test.mutate({ params: { path: { id: versionId, nodeId: node.id } }, body: input.trim() === "" ? {} : { input: readValue(input) } });
  };
  const { data: result } = test;
  return (
    <details className="rounded-md border border-line" open={pin !== undefined || undefined}>
      <summary className="flex items-center gap-2 px-3 py-1.5 font-medium">
        <FlaskConical aria-hidden className="size-4 text-quiet" /> {t`Try it`}
      </summary>
      <div className="flex flex-col gap-3 p-3 pt-1">
        {!notTried.has(node.type) && (
          <>
            <label className="flex flex-col gap-1">
              <span className="font-medium">{t`Input`}</span>
              <span className="text-xs text-quiet">{t`JSON. Without it, the node gets what the sample data of those before it bring.`}</span>
              <textarea
                data-own-undo
                rows={3}
                spellCheck={false}
                className={`${inputLook} font-mono`}
                value={input}
                onChange={({ target }) => setInput(target.value)}
              />
            </label>
            <Button
              icon={FlaskConical}
              label={t`Try this node`}
              title={t`It has its effect: a request is sent.`}
              isBusy={test.isPending}
              onClick={() => void start()}
            />
          </>
        )}
        {test.error && <ErrorPanel error={test.error} />}
        {result && (
          <div role="status" className="flex flex-col gap-2">
            <Badge tone={result.status === "completed" ? "ok" : result.status === "failed" ? "danger" : "warn"}>
              {result.status === "completed" ? t`Completed` : result.status === "failed" ? t`Failed` : t`Waiting`}
            </Badge>
            {result.error && <p className="text-danger">{result.error.message}</p>}
            {result.log && result.log.length > 0 && <pre className="overflow-x-auto text-xs">{result.log.join("\n")}</pre>}
            {result.output !== undefined && (
              <>
                <Json value={result.output} label={t`Output`} />
                {!isReadOnly && <Button icon={Pin} label={t`Keep as sample data`} onClick={() => put(result.output)} />}
              </>
            )}
          </div>
        )}
        {pin !== undefined ? (
          <label className="flex flex-col gap-1">
            <span className="font-medium">{t`Sample data`}</span>
            <span className="text-xs text-quiet">{t`What the node gives when others are tried. Runs do not look at it.`}</span>
            <textarea
              data-own-undo
              rows={4}
              spellCheck={false}
              className={`${inputLook} font-mono`}
              disabled={isReadOnly}
              defaultValue={textOfValue(pin)}
              key={JSON.stringify(pin)}
              onBlur={({ target }) => put(readValue(target.value))}
            />
          </label>
        ) : null}
        {!isReadOnly &&
          (pin === undefined ? (
            <Button icon={Pin} label={t`Write sample data`} onClick={() => put({})} />
          ) : (
            <Button icon={PinOff} label={t`Remove the sample data`} onClick={() => put(undefined)} />
          ))}
      </div>
    </details>
  );
}
