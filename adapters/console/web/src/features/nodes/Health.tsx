import { Trans } from "@lingui/react/macro";
import type { Schemas } from "@/api";
import { Badge } from "@/ui";

export function Health({ health }: { health: Schemas["NodeHealth"] }) {
  switch (health.status) {
    case "healthy":
      return (
        <Badge tone="ok">
          <Trans>Healthy</Trans>
        </Badge>
      );
    case "unhealthy":
      return (
        <Badge tone="danger">
          <Trans>Not healthy</Trans>
        </Badge>
      );
    default:
      return (
        <Badge>
          <Trans>Not checked yet</Trans>
        </Badge>
      );
  }
}
