import { useLingui } from "@lingui/react/macro";
import { useEffect } from "react";
import { useTenant } from "@/api";
import { entityOf, runStates } from "@/parts";
import { inputLook, relative, toastError, useSearchParameters } from "@/ui";
import { useEditor } from "./context";

const example = '{\n  "id": "order-1042",\n  "amount": 1250\n}';

/** Takes what a run was started with. */
function useTake() {
  const { client } = useTenant();
  const { view } = useEditor();
  return async (id: string, isFirst = false) => {
    const { data } = await client.GET("/runs/{id}", { params: { path: { id } } });
    if (isFirst && view.getState().event !== undefined) return; // somebody has begun to write one
    view.setState({ event: JSON.stringify(data?.context.data.input ?? {}, null, 2) });
  };
}

const newest = (workflowId: string) => ({ params: { query: { workflowId, limit: 20 } } });

/** Begins with what the run in the address was started with, or else the last one. */
export function useInitialEvent() {
  const { api } = useTenant();
  const { view, workflowId } = useEditor();
  const [{ run }] = useSearchParameters();
  const { data, isError } = api.useQuery("get", "/runs", newest(workflowId));
  const take = useTake();
  const first = run ?? (isError ? "" : data && (data.items[0]?.id ?? "")); // who may read no runs begins with the example
  // biome-ignore lint/correctness/useExhaustiveDependencies: once it is known
  useEffect(() => {
    if (first === undefined || view.getState().event !== undefined) return;
    if (first) void take(first, true).catch(toastError);
    else view.setState({ event: example });
  }, [first]);
}

/** Chooses a run whose event is used again. */
export function PastRun() {
  const { t, i18n } = useLingui();
  const { api } = useTenant();
  const { workflowId } = useEditor();
  const { data } = api.useQuery("get", "/runs", newest(workflowId));
  const take = useTake();
  if (!data || data.items.length === 0) return null;
  return (
    <select
      aria-label={t`Take it from a past run`}
      className={inputLook}
      value=""
      onChange={({ target }) => void take(target.value).catch(toastError)}
    >
      <option value="">{t`Take it from a past run`}</option>
      {data.items.map((run) => (
        <option key={run.id} value={run.id}>
          {[entityOf(run) ?? run.id, i18n._(runStates[run.status].word), relative(new Date(run.createdAt), new Date(), i18n.locale)].join(" · ")}
        </option>
      ))}
    </select>
  );
}
