import { useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { useTenant } from "@/api";
import { EventDialog } from "@/parts";
import { useSession, useView } from "./context";
import { PastRun, useInitialEvent } from "./PastRun";

/** Runs the version as it is, with all effects. */
export default function RunVersion({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { api, id: tenantId } = useTenant();
  const versionId = useSession((session) => session.versionId);
  const event = useView((shown) => shown.event);
  useInitialEvent();
  const start = api.useMutation("post", "/workflow-versions/{id}/runs", {
    onSuccess: (run) => void navigate({ to: `/t/${tenantId}/runs/${run.id}` }),
  });
  return (
    <EventDialog
      title={t`Run this version`}
      description={t`It runs as it is now, with all effects: requests are sent, and people are asked.`}
      action={t`Start the run`}
      request={start}
      event={event}
      onSend={(body) => start.mutate({ params: { path: { id: versionId } }, body })}
      onClose={onClose}
    >
      <PastRun />
    </EventDialog>
  );
}
