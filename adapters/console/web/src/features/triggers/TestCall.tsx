import { useLingui } from "@lingui/react/macro";
import { useTenant } from "@/api";
import { EventDialog } from "@/parts";
import type { Trigger } from "@/parts/triggers";
import { Link } from "@/ui";

/** Calls a trigger as a server would. */
export function TestCall({ trigger, onClose }: { trigger: Trigger; onClose: () => void }) {
  const { t } = useLingui();
  const { api, id } = useTenant();
  const call = api.useMutation("post", "/triggers/{id}/webhook");
  const answer = call.data;
  return (
    <EventDialog
      title={t`Call ${trigger.name}`}
      description={t`A real call: it starts a run.`}
      action={t`Call it`}
      dismiss={t`Close`}
      request={call}
      onSend={(body) => call.mutate({ params: { path: { id: trigger.id } }, body })}
      onClose={onClose}
    >
      {answer && (
        <p role="status" className="rounded-md border border-line bg-panel p-3">
          {answer.filtered && t`The filter is not true of it: no run was started.`}
          {answer.skipped && t`As many runs are live as may be: no run was started.`}
          {!answer.filtered && !answer.skipped && <Link to={`/t/${id}/runs/${answer.runId}`}>{t`It started a run`}</Link>}
        </p>
      )}
    </EventDialog>
  );
}
