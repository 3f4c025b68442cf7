import { useLingui } from "@lingui/react/macro";
import { type ReactNode, useState } from "react";
import { FormDialog, TextArea, TextField, textOf } from "@/ui";

type Props = {
  title: string;
  description: string;
  action: string;
  dismiss?: string;
  request: { error: unknown; isPending: boolean };
  onSend: (event: { eventData: unknown; entityId?: string }) => void;
  onClose: () => void;
  children?: ReactNode;
};

/** Takes an event that starts a run. */
export function EventDialog({ request, onSend, children, ...dialog }: Props) {
  const { t } = useLingui();
  const [unreadable, setUnreadable] = useState<unknown>(null);
  const submit = (form: FormData) => {
    let eventData: unknown;
    try {
      eventData = JSON.parse(textOf(form, "eventData") ?? "{}");
    } catch {
      setUnreadable({ message: t`The event is no JSON.`, fields: { eventData: t`This must be JSON, such as {"amount": 1250}.` } });
      return;
    }
    setUnreadable(null);
    onSend({ eventData, entityId: textOf(form, "entityId") });
  };
  return (
    <FormDialog {...dialog} request={{ ...request, error: unreadable ?? request.error }} onSubmit={submit}>
      <TextArea
        name="eventData"
        label={t`Event, as JSON`}
        help={t`What the run works with, as payload.`}
        defaultValue={'{\n  "id": "order-1042",\n  "amount": 1250\n}'}
        rows={6}
        isCode
      />
      <TextField name="entityId" label={t`Entity`} optional help={t`What the run is about, such as the number of an order.`} maxLength={255} />
      {children}
    </FormDialog>
  );
}
