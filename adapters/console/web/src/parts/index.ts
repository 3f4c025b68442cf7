export { AnswerForm, QuestionForm } from "./AnswerForm";
export type { FieldSchema } from "./answer";
export { EventDialog } from "./EventDialog";
export { useItems, useReload } from "./items";
export { LimitFacts } from "./LimitFacts";
export { useWorkflowNames } from "./names";
export { RecordField, useName, WorkflowFilter, WorkflowName } from "./records";
export { RoleName } from "./role";
export { causes, entityOf, nodeStates, runStates } from "./run";
