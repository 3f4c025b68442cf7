import type { Schemas } from "@/api";
import { AnswerForm, entityOf, useName } from "@/parts";
import { Dialog } from "@/ui";
import { titleOf } from "./title";

/** Shows a question with its form. */
export function AnswerDialog({ pause, onClose, onDone }: { pause: Schemas["OpenPause"]; onClose: () => void; onDone: () => void }) {
  const workflow = useName("/workflows", pause.workflowId);
  return (
    <Dialog title={titleOf(pause)} description={[workflow, entityOf(pause)].filter(Boolean).join(" · ")} onClose={onClose}>
      <AnswerForm pauseId={pause.id} question={pause.question ?? { form: {} }} until={pause.until} onDone={onDone} onCancel={onClose} />
    </Dialog>
  );
}
