import { Trans, useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, Form, TextArea, TextField, textOf } from "@/ui";

/** Starts a run by hand. */
export function StartRun({ workflow, onClose }: { workflow: Schemas["Workflow"]; onClose: () => void }) {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { api, id } = useTenant();
  const [unreadable, setUnreadable] = useState<unknown>(null);
  const { mutate, error, isPending } = api.useMutation("post", "/workflows/{id}/runs", {
    onSuccess: (run) => void navigate({ to: `/t/${id}/runs/${run.id}` }),
  });
  const submit = (form: FormData) => {
    let eventData: unknown;
    try {
      eventData = JSON.parse(textOf(form, "eventData") ?? "{}");
    } catch {
      setUnreadable({ message: t`The event is no JSON.`, fields: { eventData: t`This must be JSON, such as {"amount": 1250}.` } });
      return;
    }
    setUnreadable(null);
    mutate({ params: { path: { id: workflow.id } }, body: { eventData, entityId: textOf(form, "entityId") } });
  };
  return (
    <Dialog title={t`Run ${workflow.name}`} description={t`It runs the active version, as a trigger would.`} isOpen onClose={onClose}>
      <Form error={unreadable ?? error} onSubmit={submit}>
        <TextArea
          name="eventData"
          label={t`Event, as JSON`}
          help={t`What the run works with, as payload.`}
          defaultValue={'{\n  "id": "order-1042",\n  "amount": 1250\n}'}
          rows={6}
          className="font-mono"
          spellCheck={false}
        />
        <TextField
          name="entityId"
          label={t`Entity`}
          optional={t`optional`}
          help={t`What the run is about, such as the number of an order.`}
          maxLength={255}
        />
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Start the run</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
