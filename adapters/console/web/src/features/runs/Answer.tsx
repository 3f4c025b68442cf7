import { Trans, useLingui } from "@lingui/react/macro";
import { type Schemas, useTenant } from "@/api";
import { Button, Form, SelectField, TextField, textOf, toast } from "@/ui";
import { answerOf } from "./answers";

/** Answers the question that a node asks. */
export function Answer({ pauseId, question, onDone }: { pauseId: string; question: Schemas["Question"]; onDone: () => unknown }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const { mutate, error, isPending } = api.useMutation("post", "/pauses/{id}/answer", {
    onSuccess: () => {
      toast(t`The question was answered`);
      void onDone();
    },
  });
  const fields = Object.entries(question.form);
  return (
    <div className="flex flex-col gap-3 rounded-lg border border-warn bg-panel p-4">
      <p className="font-medium">{question.title ?? t`A question`}</p>
      {question.prompt && <p className="whitespace-pre-wrap">{question.prompt}</p>}
      <Form
        error={error}
        onSubmit={(form) => mutate({ params: { path: { id: pauseId } }, body: { input: answerOf(question.form, (name) => textOf(form, name)) } })}
      >
        {fields.map(([name, field]) => {
          const label = field.title ?? (name === "value" ? t`Answer` : name);
          const common = { name, label, help: field.description, optional: field.required ? undefined : t`optional` };
          if (field.type === "boolean" || field.type === "enum") {
            const options = field.type === "boolean" ? ["true", "false"] : (field.enum ?? []).map(String);
            const labels: unknown = field.type === "boolean" ? [t`Yes`, t`No`] : field.enumLabels;
            return (
              <SelectField key={name} {...common} defaultValue="">
                <option value="" />
                {options.map((value, at) => (
                  <option key={value} value={value}>
                    {Array.isArray(labels) ? labels[at] : value}
                  </option>
                ))}
              </SelectField>
            );
          }
          return <TextField key={name} {...common} inputMode={field.type === "number" ? "decimal" : undefined} placeholder={field.placeholder} />;
        })}
        <Button type="submit" look="primary" isBusy={isPending} className="self-start">
          <Trans>Send the answer</Trans>
        </Button>
      </Form>
    </div>
  );
}
