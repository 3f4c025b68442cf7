import { Trans, useLingui } from "@lingui/react/macro";
import { Check, X } from "lucide-react";
import { type Schemas, useTenant } from "@/api";
import { Button, DialogButtons, Form, SelectField, TextArea, TextField, Time, toast } from "@/ui";
import { answerOf, controlOf, type FieldSchema, fieldsIn, isSingle, optionsOf, pathOf, type Question } from "./answer";

type Props = { pauseId: string; question: Question; until?: string; onDone: () => unknown; onCancel?: () => void };

/** The form of a question that a run asks, which takes the answer. What the question is called stands above it. */
export function AnswerForm({ pauseId, onDone, ...form }: Props) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, error, isPending, isSuccess } = api.useMutation("post", "/pauses/{id}/answer", {
    onSuccess: () => {
      toast(t`The run goes on with your answer`);
      void onDone();
    },
  });
  const send = (input: unknown) => mutate({ params: { path: { id: pauseId } }, body: { input } as Schemas["AnswerPause"] });
  return <QuestionForm {...form} error={error} isBusy={isPending || isSuccess} onSend={send} />; // who has answered waits for the page to go on
}

type FormProps = { question: Question; until?: string; error?: unknown; isBusy: boolean; onSend: (input: unknown) => void; onCancel?: () => void };

/** The form of a question, whoever asks it. */
export function QuestionForm({ question, until, error, isBusy, onSend: send, onCancel }: FormProps) {
  const { t } = useLingui();
  const isYesNo = question.inputType === "boolean";
  return (
    <Form error={error} onSubmit={(form) => send(answerOf(question, (path) => String(form.get(path) ?? "")))}>
      {question.title && question.prompt && <p className="break-words whitespace-pre-wrap">{question.prompt}</p>}
      {until && (
        <p className="text-quiet">
          <Trans>
            The question ends <Time at={until} />.
          </Trans>
        </p>
      )}
      {!isYesNo &&
        fieldsIn(question).map(([name, field]) => (
          <AnswerField
            key={name}
            path={pathOf(question, name)}
            label={field.title || (isSingle(question) ? t`Your answer` : name)}
            field={field}
            kind={question.inputType}
          />
        ))}
      <DialogButtons>
        {isYesNo ? (
          <>
            <Button icon={X} label={t`No`} isBusy={isBusy} onClick={() => send(false)} />
            <Button icon={Check} look="primary" label={t`Yes`} isBusy={isBusy} onClick={() => send(true)} />
          </>
        ) : (
          <>
            {onCancel && <Button label={t`Cancel`} onClick={onCancel} />}
            <Button type="submit" look="primary" label={t({ message: "Answer", context: "to answer" })} isBusy={isBusy} />
          </>
        )}
      </DialogButtons>
    </Form>
  );
}

type FieldProps = { path: string; label: string; field: FieldSchema; kind: Question["inputType"] };

function AnswerField({ path, label, field, kind }: FieldProps) {
  const { t } = useLingui();
  const { description, placeholder, required, default: usual } = field;
  const shared = {
    name: path,
    label,
    help: description,
    optional: !required,
    placeholder,
    defaultValue: usual === undefined || typeof usual === "string" ? usual : JSON.stringify(usual),
  };
  switch (controlOf(field)) {
    case "yesno":
      return <SelectField {...shared} first={t`Choose`} options={{ true: t`Yes`, false: t`No` }} />;
    case "select":
      return (
        <SelectField
          {...shared}
          defaultValue={usual === undefined ? "" : JSON.stringify(usual)}
          first={t`Choose`}
          options={Object.fromEntries(optionsOf(field).map(({ value, label }) => [value, label]))}
        />
      );
    case "number":
      return <TextField {...shared} inputMode="decimal" />;
    case "textarea":
      return <TextArea {...shared} rows={4} />;
    case "json":
      return <TextArea {...shared} rows={4} isCode help={description ?? t`As JSON`} />;
    case "password":
      return <TextField {...shared} type="password" autoComplete="off" />;
    default:
      return <TextField {...shared} type={kind === "email" || kind === "url" ? kind : "text"} />;
  }
}
