import { Plural, useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { use } from "react";
import { useTenant } from "@/api";
import { useReload } from "@/parts";
import { Confirm, toast } from "@/ui";
import { useEditor, useSession } from "./context";
import { HostContext } from "./host";
import { storedOf } from "./server";

/** Publishes the version as it is shown. */
export function usePublish() {
  const { t } = useLingui();
  const { client } = useTenant();
  const { editing, workflowId } = useEditor();
  const host = use(HostContext);
  const queries = useQueryClient();
  const reload = useReload("/workflow");
  return async () => {
    if (!(await editing.flush())) throw new Error(t`The last changes could not be saved.`);
    const path = { params: { path: { id: editing.store.getState().versionId } } };
    const { data: answer } = await client.POST("/workflow-versions/{id}/publish", path);
    const { data, response } = await client.GET("/workflow-versions/{id}", { ...path, cache: "no-store" });
    editing.take(storedOf({ data, response }));
    toast(answer?.message ?? t`The version is published`);
    if (data) host?.onPublished({ workflowId, versionId: data.id, version: data.version });
    await Promise.all([reload(), queries.invalidateQueries({ queryKey: ["get", "/triggers"] })]);
  };
}

/** Asks before a draft becomes the version that triggers start, and says what becomes of them. */
export function Publish({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { workflowId, findings } = useEditor();
  const publish = usePublish();
  const number = useSession((session) => session.number);
  const active = api.useQuery("get", "/workflow-versions", { params: { query: { workflowId, isActive: true, limit: 1 } } }).data?.items[0];
  const triggers = api.useQuery(
    "get",
    "/triggers/workflow-version/{versionId}",
    { params: { path: { versionId: active?.id ?? "" }, query: { limit: 1 } } },
    { enabled: active !== undefined },
  ).data?.total;
  const warnings = findings.filter(({ isWarning }) => isWarning).length;
  return (
    <Confirm onClose={onClose} title={t`Publish version ${number ?? 1}?`} action={t`Publish`} isDangerous={false} onConfirm={publish}>
      {active ? (
        <p>{t`It takes the place of version ${active.version}. Runs that are under way go on with the version that they began with.`}</p>
      ) : (
        <p>{t`It is the first one: from now on the workflow can be started.`}</p>
      )}
      {triggers !== undefined && triggers > 0 && (
        <p>
          <Plural value={triggers} one="Its trigger comes along, with its address." other="Its # triggers come along, with their addresses." />
        </p>
      )}
      {warnings > 0 && (
        <p className="text-warn">
          <Plural
            value={warnings}
            one="There is a warning, which does not stand against it."
            other="There are # warnings, which do not stand against it."
          />
        </p>
      )}
    </Confirm>
  );
}
