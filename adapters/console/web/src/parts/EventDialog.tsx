import { useLingui } from "@lingui/react/macro";
import type { ReactNode } from "react";
import { FormDialog, TextArea, TextField, textOf, Unreadable } from "@/ui";

type Props = {
  title: string;
  description: string;
  action: string;
  dismiss?: string;
  request: { error: unknown; isPending: boolean };
  /** The event, where it is kept outside of the dialog. */
  event?: string;
  onEvent?: (event: string) => void;
  onSend: (event: { eventData: unknown; entityId?: string }) => void;
  onClose: () => void;
  children?: ReactNode;
};

const example = '{\n  "id": "order-1042",\n  "amount": 1250\n}';

/** Takes an event that starts a run. */
export function EventDialog({ request, event, onEvent, onSend, children, ...dialog }: Props) {
  const { t } = useLingui();
  const submit = (form: FormData) => {
    let eventData: unknown;
    try {
      eventData = JSON.parse(textOf(form, "eventData") ?? "{}");
    } catch {
      throw new Unreadable(t`The event is no JSON.`, { eventData: t`This must be JSON, such as {"amount": 1250}.` });
    }
    onSend({ eventData, entityId: textOf(form, "entityId") });
  };
  return (
    <FormDialog {...dialog} request={request} onSubmit={submit}>
      <TextArea
        name="eventData"
        label={t`Event, as JSON`}
        help={t`What the run works with, as payload.`}
        {...(onEvent ? { value: event, onChange: ({ target }) => onEvent(target.value) } : { defaultValue: example })}
        rows={6}
        isCode
      />
      <TextField name="entityId" label={t`Entity`} optional help={t`What the run is about, such as the number of an order.`} maxLength={255} />
      {children}
    </FormDialog>
  );
}
