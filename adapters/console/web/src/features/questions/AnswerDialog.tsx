import { Trans, useLingui } from "@lingui/react/macro";
import { Check, X } from "lucide-react";
import { type Schemas, useTenant } from "@/api";
import { Button, Dialog, DialogButtons, Field, Form, inputLook, SelectField, TextArea, TextField, Time } from "@/ui";
import { answerOf, controlOf, type FieldSchema, fieldsIn, isSingle, optionsOf, pathOf } from "./answer";

type Props = { pause: Schemas["OpenPause"]; about: string; onClose: () => void; onDone: () => void };

/** Shows a question with its form, and takes the answer. */
export function AnswerDialog({ pause, about, onClose, onDone }: Props) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, error, isPending } = api.useMutation("post", "/pauses/{id}/answer", { onSuccess: onDone });
  const question = pause.question ?? { form: {} };
  const fields = fieldsIn(question);
  const isYesNo = question.inputType === "boolean";
  const send = (input: unknown) => mutate({ params: { path: { id: pause.id } }, body: { input } as Schemas["AnswerPause"] });
  const title = question.title || question.prompt || pause.nodeId;
  return (
    <Dialog title={title} description={about} isOpen onClose={onClose}>
      <Form
        error={error}
        onSubmit={(form) =>
          send(
            answerOf(question, (path) => {
              const text = form.get(path);
              return typeof text === "string" ? text : "";
            }),
          )
        }
      >
        {question.title && question.prompt && <p className="break-words whitespace-pre-wrap">{question.prompt}</p>}
        {pause.until && (
          <p className="text-quiet">
            <Trans>
              The question ends <Time at={pause.until} />.
            </Trans>
          </p>
        )}
        {!isYesNo &&
          fields.map(([name, field]) => (
            <QuestionField
              key={name}
              path={pathOf(question, name)}
              name={isSingle(question) ? t`Your answer` : name}
              field={field}
              kind={question.inputType}
            />
          ))}
        <DialogButtons>
          {isYesNo ? (
            <>
              <Button icon={X} isBusy={isPending} onClick={() => send(false)}>
                <Trans>No</Trans>
              </Button>
              <Button icon={Check} look="primary" isBusy={isPending} onClick={() => send(true)}>
                <Trans>Yes</Trans>
              </Button>
            </>
          ) : (
            <>
              <Button onClick={onClose}>
                <Trans>Cancel</Trans>
              </Button>
              <Button type="submit" look="primary" isBusy={isPending}>
                <Trans>Answer</Trans>
              </Button>
            </>
          )}
        </DialogButtons>
      </Form>
    </Dialog>
  );
}

function QuestionField({ path, name, field, kind }: { path: string; name: string; field: FieldSchema; kind: string | undefined }) {
  const { t } = useLingui();
  const label = field.title || name;
  const shared = {
    name: path,
    label,
    help: field.description,
    optional: field.required ? undefined : t`optional`,
    placeholder: field.placeholder,
    defaultValue: field.default === undefined ? undefined : typeof field.default === "string" ? field.default : JSON.stringify(field.default),
  };
  switch (controlOf(field)) {
    case "yesno":
      return (
        <Field name={path} label={label} help={field.description} optional={shared.optional}>
          {(props) => (
            <select {...props} className={inputLook} defaultValue={shared.defaultValue ?? ""}>
              <option value="">{t`Choose`}</option>
              <option value="true">{t`Yes`}</option>
              <option value="false">{t`No`}</option>
            </select>
          )}
        </Field>
      );
    case "select":
      return (
        <SelectField {...shared} defaultValue={field.default === undefined ? "" : JSON.stringify(field.default)}>
          <option value="">{t`Choose`}</option>
          {optionsOf(field).map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
      );
    case "number":
      return <TextField {...shared} inputMode="decimal" />;
    case "textarea":
      return <TextArea {...shared} rows={4} />;
    case "json":
      return <TextArea {...shared} rows={4} spellCheck={false} help={field.description ?? t`As JSON`} />;
    case "password":
      return <TextField {...shared} type="password" autoComplete="off" />;
    default:
      return <TextField {...shared} type={kind === "email" || kind === "url" ? kind : "text"} />;
  }
}
