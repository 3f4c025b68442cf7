import { Trans } from "@lingui/react/macro";
import type { ReactNode } from "react";
import type { Schemas } from "@/api";
import { Badge, type Tone } from "@/ui";

type Status = Schemas["RunStatus"] | Schemas["RunNodeStatus"];

export const tones: Record<Status, Tone> = {
  pending: "quiet",
  running: "info",
  paused: "warn",
  waiting: "warn",
  completed: "ok",
  failed: "danger",
  skipped: "quiet",
  cancelled: "quiet",
};

const words: Record<Status, ReactNode> = {
  pending: <Trans>Pending</Trans>,
  running: <Trans>Running</Trans>,
  paused: <Trans>Waiting</Trans>,
  waiting: <Trans>Waiting</Trans>,
  completed: <Trans>Completed</Trans>,
  failed: <Trans>Failed</Trans>,
  skipped: <Trans>Skipped</Trans>,
  cancelled: <Trans>Cancelled</Trans>,
};

/** Where a run or a node of it stands. */
export const RunStatus = ({ status }: { status: Status }) => <Badge tone={tones[status]}>{words[status]}</Badge>;
