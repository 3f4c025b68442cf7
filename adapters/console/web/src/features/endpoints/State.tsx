import { Trans, useLingui } from "@lingui/react/macro";
import type { Schemas } from "@/api";
import { Badge, Time } from "@/ui";
import { stateOf } from "./events";

export function EndpointState({ endpoint }: { endpoint: Schemas["WebhookEndpoint"] }) {
  const { t } = useLingui();
  switch (stateOf(endpoint)) {
    case "on":
      return <Badge tone="ok">{t`On`}</Badge>;
    case "off":
      return <Badge>{t`Off`}</Badge>;
    case "disabled":
      return <Badge tone="danger">{t`Switched off by the gateway`}</Badge>;
    case "failing":
      return (
        <Badge tone="warn">
          <Trans>
            Fails since <Time at={endpoint.failingSince as string} />
          </Trans>
        </Badge>
      );
  }
}
