import type { Schemas } from "@/api";

/** Whether a key is accepted: now, until some time, or no more. */
export function stateOf({ revokedAt, expiresAt }: Pick<Schemas["ApiKey"], "revokedAt" | "expiresAt">, now: Date): "active" | "ending" | "ended" {
  const isOver = (at: string | undefined) => at !== undefined && new Date(at) <= now;
  if (isOver(revokedAt) || isOver(expiresAt)) return "ended";
  return revokedAt || expiresAt ? "ending" : "active";
}
