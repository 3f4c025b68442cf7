import { useLingui } from "@lingui/react/macro";
import { useState } from "react";
import type { Schemas } from "@/api";
import { QuestionForm } from "@/parts";
import { Button, CheckField, DialogButtons, Form, inputLook, OptionsOf, TextArea, TextField, textOf } from "@/ui";
import { typeOf } from "./catalogue";
import { useEditor } from "./context";
import type { GraphNode } from "./model";
import { type Answer, parseJson } from "./simulate";

type Props = {
  node: GraphNode | undefined;
  question?: Schemas["Question"];
  /** What was answered before. */
  given?: Answer;
  /** Whether the run cannot go on without an answer. */
  isOpen: boolean;
  /** Whether the node has asked the run to wait: what ends that gives something. */
  isWaiting: boolean;
  isBusy: boolean;
  onAnswer: (answer: Answer | undefined, isForAll: boolean) => void;
};

/** Takes what a person or another system answers in a simulation. */
export function SimulatedAnswer({ node, question, given, isOpen, isWaiting, isBusy, onAnswer }: Props) {
  const { t } = useLingui();
  if (!node) return null;
  const form = question ? (
    <QuestionForm question={question} isBusy={isBusy} onSend={(output) => onAnswer({ output }, false)} />
  ) : (
    <ResultForm node={node} given={given} isWaiting={isWaiting} isBusy={isBusy} onAnswer={onAnswer} />
  );
  return (
    <details open={isOpen} className={`rounded-md border ${isOpen ? "border-warn" : "border-line"}`}>
      <summary className="px-3 py-1.5 font-medium">{question ? t`Answer ${node.name}` : t`Say what ${node.name} gets`}</summary>
      <div className="flex flex-col gap-3 p-3 pt-1">
        {question?.title && <p className="font-medium">{question.title}</p>}
        {question?.prompt && !question.title && <p className="break-words whitespace-pre-wrap">{question.prompt}</p>}
        {form}
        {given && <Button className="self-start" label={t`Take my answer back`} isBusy={isBusy} onClick={() => onAnswer(undefined, false)} />}
      </div>
    </details>
  );
}

const firstOutputs: Record<string, unknown> = { httpRequest: { status: 200, headers: {}, body: null } };

/** What another system does: it gives something, fails, or, of a custom node, asks the run to wait. */
function ResultForm({ node, given, isWaiting, isBusy, onAnswer }: Pick<Props, "given" | "isWaiting" | "isBusy" | "onAnswer"> & { node: GraphNode }) {
  const { t } = useLingui();
  const { types } = useEditor();
  const type = typeOf(types, node);
  const waits = isWaiting || node.type === "waitForEvent";
  const [kind, setKind] = useState(given?.error ? "error" : given?.pause ? "pause" : "output");
  const [text, setText] = useState(() => JSON.stringify(given?.output ?? firstOutputs[node.type] ?? {}, null, 2));
  const { value, isJson } = parseJson(text);
  const send = (form: FormData) => {
    const afterMs = Number(textOf(form, "afterMs") ?? 0) || undefined;
    const isForAll = form.get("isForAll") !== null;
    if (kind === "error") {
      const error = { message: textOf(form, "message"), retryable: form.get("retryable") !== null };
      onAnswer({ error, afterMs }, isForAll);
    } else if (kind === "pause") onAnswer({ pause: { event: textOf(form, "event") }, afterMs }, isForAll);
    else onAnswer({ output: value, afterMs }, isForAll);
  };
  return (
    <Form onSubmit={send}>
      {!waits && (
        <select aria-label={t`What happens`} className={inputLook} value={kind} onChange={({ target }) => setKind(target.value)}>
          <OptionsOf
            options={{
              output: t`It gives something`,
              error: t`It fails`,
              ...(type && !type.isBuiltIn && type.canPause && { pause: t`It asks to wait` }),
            }}
          />
        </select>
      )}
      {kind === "output" && (
        <TextArea
          name="output"
          label={waits ? t`Data of the event` : t`Output`}
          isCode
          help={isJson ? t`As JSON` : <span className="text-danger">{t`This must be JSON, such as {"amount": 1250}.`}</span>}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      )}
      {kind === "error" && (
        <>
          <TextField name="message" label={t`Message`} optional defaultValue={given?.error?.message} />
          <CheckField name="retryable" label={t`Another attempt may succeed`} defaultChecked={given?.error?.retryable ?? true} />
        </>
      )}
      {kind === "pause" && <TextField name="event" label={t`Event that ends it`} optional defaultValue={given?.pause?.event} />}
      <TextField name="afterMs" type="number" min={0} label={t`It takes, in milliseconds`} optional defaultValue={given?.afterMs} />
      {node.parentId && <CheckField name="isForAll" label={t`The same for all items that follow`} defaultChecked />}
      <DialogButtons>
        <Button type="submit" look="primary" label={t`Go on with it`} isBusy={isBusy} disabled={kind === "output" && !isJson} />
      </DialogButtons>
    </Form>
  );
}
