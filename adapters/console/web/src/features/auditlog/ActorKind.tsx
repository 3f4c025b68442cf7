import { Trans } from "@lingui/react/macro";
import type { Schemas } from "@/api";

/** By what somebody acted. */
export function ActorKind({ kind }: { kind: Schemas["AuditActorKind"] }) {
  switch (kind) {
    case "apiKey":
      return <Trans>API key</Trans>;
    case "embedToken":
      return <Trans>Embed token</Trans>;
    case "member":
      return <Trans>Member</Trans>;
    case "operator":
      return <Trans>Operator</Trans>;
    case "commandLine":
      return <Trans>Command line</Trans>;
    case "link":
      return <Trans>By a link</Trans>;
    default:
      return kind;
  }
}
