import { useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { type Schemas, useTenant } from "@/api";
import { EventDialog } from "@/parts";

/** Starts a run by hand. */
export function StartRun({ workflow, onClose }: { workflow: Schemas["Workflow"]; onClose: () => void }) {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { api, id } = useTenant();
  const start = api.useMutation("post", "/workflows/{id}/runs", { onSuccess: (run) => void navigate({ to: `/t/${id}/runs/${run.id}` }) });
  return (
    <EventDialog
      title={t`Run ${workflow.name}`}
      description={t`It runs the active version, as a trigger would.`}
      action={t`Start the run`}
      request={start}
      onSend={(body) => start.mutate({ params: { path: { id: workflow.id } }, body })}
      onClose={onClose}
    />
  );
}
