import type { Schemas } from "@/api";

/** Whether a token is accepted. */
export function isAccepted({ revokedAt, expiresAt }: Pick<Schemas["EmbedToken"], "revokedAt" | "expiresAt">, now: Date): boolean {
  return new Date(expiresAt) > now && (revokedAt === undefined || new Date(revokedAt) > now);
}
