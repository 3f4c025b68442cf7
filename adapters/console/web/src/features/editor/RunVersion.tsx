import { useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { use } from "react";
import { useTenant } from "@/api";
import { EventDialog } from "@/parts";
import { HasPage, toast } from "@/ui";
import { useEditor, useSession, useView } from "./context";
import { PastRun, useInitialEvent } from "./PastRun";

/** Runs the version as it is, with all effects. */
export default function RunVersion({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { api, id: tenantId } = useTenant();
  const hasPage = use(HasPage);
  const versionId = useSession((session) => session.versionId);
  const { view } = useEditor();
  const event = useView((shown) => shown.event) ?? "";
  useInitialEvent();
  const start = api.useMutation("post", "/workflow-versions/{id}/runs", {
    onSuccess: (run) => {
      const to = `/t/${tenantId}/runs/${run.id}`;
      if (hasPage(to)) return void navigate({ to });
      toast(t`The run has started`);
      onClose();
    },
  });
  return (
    <EventDialog
      title={t`Run this version`}
      description={t`It runs as it is now, with all effects: requests are sent, and people are asked.`}
      action={t`Start the run`}
      request={start}
      event={event}
      onEvent={(text) => view.setState({ event: text })}
      onSend={(body) => start.mutate({ params: { path: { id: versionId } }, body })}
      onClose={onClose}
    >
      <PastRun />
    </EventDialog>
  );
}
