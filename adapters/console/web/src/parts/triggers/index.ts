export { Address } from "./Address";
export { addressOf, type Config, localTime, type Start, startOf, type Trigger } from "./config";
export { HookAddress } from "./HookAddress";
export { HookForm } from "./HookForm";
export { useHook } from "./hook";
export { SchedulePreview } from "./SchedulePreview";
export type { Scheme } from "./scheme";
export { TriggerForm } from "./TriggerForm";
export { outcomes, startWords, useSender, verdicts } from "./words";
