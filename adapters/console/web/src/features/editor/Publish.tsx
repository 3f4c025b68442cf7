import { Plural, useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { useTenant } from "@/api";
import { useReload } from "@/parts";
import { Confirm, toast } from "@/ui";
import { useEditor, useSession } from "./context";
import { storedOf } from "./server";

/** Asks before a draft becomes the version that triggers start, and says what becomes of them. */
export function Publish({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const { api, client } = useTenant();
  const { editing, workflowId, findings } = useEditor();
  const queries = useQueryClient();
  const reload = useReload("/workflow");
  const versionId = useSession((session) => session.versionId);
  const number = useSession((session) => session.number);
  const active = api.useQuery("get", "/workflow-versions", { params: { query: { workflowId, isActive: true, limit: 1 } } }).data?.items[0];
  const triggers = api.useQuery(
    "get",
    "/triggers/workflow-version/{versionId}",
    { params: { path: { versionId: active?.id ?? "" }, query: { limit: 1 } } },
    { enabled: active !== undefined },
  ).data?.total;
  const warnings = findings.filter(({ isWarning }) => isWarning).length;
  const publish = async () => {
    if (!(await editing.flush())) throw new Error(t`The last changes could not be saved.`);
    const { data: answer } = await client.POST("/workflow-versions/{id}/publish", { params: { path: { id: versionId } } });
    const { data, response } = await client.GET("/workflow-versions/{id}", { params: { path: { id: versionId } }, cache: "no-store" });
    editing.take(storedOf({ data, response }));
    toast(answer?.message ?? t`The version is published`);
    await Promise.all([reload(), queries.invalidateQueries({ queryKey: ["get", "/triggers"] })]);
  };
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
