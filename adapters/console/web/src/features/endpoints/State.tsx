import { Trans } from "@lingui/react/macro";
import type { Schemas } from "@/api";
import { Badge, Time } from "@/ui";
import { stateOf } from "./events";

export function EndpointState({ endpoint }: { endpoint: Schemas["WebhookEndpoint"] }) {
  switch (stateOf(endpoint)) {
    case "on":
      return (
        <Badge tone="ok">
          <Trans>On</Trans>
        </Badge>
      );
    case "failing":
      return (
        <Badge tone="warn">
          <Trans>
            Fails since <Time at={endpoint.failingSince as string} />
          </Trans>
        </Badge>
      );
    case "disabled":
      return (
        <Badge tone="danger">
          <Trans>Switched off by the gateway</Trans>
        </Badge>
      );
    default:
      return (
        <Badge>
          <Trans>Off</Trans>
        </Badge>
      );
  }
}

export function DeliveryState({ status }: { status: Schemas["DeliveryStatus"] }) {
  if (status === "delivered") {
    return (
      <Badge tone="ok">
        <Trans>Delivered</Trans>
      </Badge>
    );
  }
  return status === "failed" ? (
    <Badge tone="danger">
      <Trans>Failed</Trans>
    </Badge>
  ) : (
    <Badge tone="info">
      <Trans>Pending</Trans>
    </Badge>
  );
}
