import type { Schemas } from "@/api";

/** What a question is called. */
export const titleOf = ({ question, nodeId }: Schemas["OpenPause"]): string => question?.title || question?.prompt || nodeId;
