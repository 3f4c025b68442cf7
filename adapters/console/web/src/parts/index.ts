export { AnswerForm } from "./AnswerForm";
export { EventDialog } from "./EventDialog";
export { useItems, useReload } from "./items";
export { LimitFacts } from "./LimitFacts";
export { RecordField, useName, WorkflowFilter, WorkflowName } from "./records";
export { RoleName } from "./role";
export { nodeStates, runStates } from "./run";
