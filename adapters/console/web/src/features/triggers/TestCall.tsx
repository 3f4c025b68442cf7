import { Trans, useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { useTenant } from "@/api";
import { Button, Dialog, DialogButtons, Form, inputLook, Link, TextArea, TextField, textOf } from "@/ui";
import type { Trigger } from "./config";

/** Calls a trigger as a server would. */
export function TestCall({ trigger, onClose }: { trigger: Trigger; onClose: () => void }) {
  const { t } = useLingui();
  const { api, id } = useTenant();
  const [unreadable, setUnreadable] = useState<unknown>(null);
  const { mutate, data, error, isPending } = api.useMutation("post", "/triggers/{id}/webhook");
  const submit = (form: FormData) => {
    let eventData: unknown;
    try {
      eventData = JSON.parse(textOf(form, "eventData") ?? "{}");
    } catch {
      setUnreadable({ message: t`The event is no JSON.`, fields: { eventData: t`This must be JSON, such as {"amount": 1250}.` } });
      return;
    }
    setUnreadable(null);
    mutate({ params: { path: { id: trigger.id } }, body: { eventData, entityId: textOf(form, "entityId") } });
  };
  return (
    <Dialog title={t`Call ${trigger.name}`} description={t`A real call: it starts a run.`} isOpen onClose={onClose}>
      <Form error={unreadable ?? error} onSubmit={submit}>
        <TextArea
          name="eventData"
          label={t`Event, as JSON`}
          help={t`What the run works with, as payload.`}
          defaultValue={'{\n  "id": "order-1042",\n  "amount": 1250\n}'}
          rows={6}
          className={`${inputLook} font-mono`}
          spellCheck={false}
        />
        <TextField
          name="entityId"
          label={t`Entity`}
          optional={t`optional`}
          help={t`What the run is about, such as the number of an order.`}
          maxLength={255}
        />
        {data && (
          <p role="status" className="rounded-md border border-line bg-panel p-3">
            {data.filtered ? (
              <Trans>The filter is not true of it: no run was started.</Trans>
            ) : data.skipped ? (
              <Trans>As many runs are live as may be: no run was started.</Trans>
            ) : (
              <Link to={`/t/${id}/runs/${data.runId}`}>
                <Trans>It started a run</Trans>
              </Link>
            )}
          </p>
        )}
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Close</Trans>
          </Button>
          <Button type="submit" look="primary" isBusy={isPending}>
            <Trans>Call it</Trans>
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}
