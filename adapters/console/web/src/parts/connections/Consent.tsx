import { useLingui } from "@lingui/react/macro";
import { ExternalLink } from "lucide-react";
import { type Schemas, useTenant } from "@/api";
import { Button, ErrorPanel, Fact, Facts, Section, Skeleton, StateBadge, Time } from "@/ui";
import { useConsent } from "./consent";
import { grantStates } from "./words";

/** The access token of a connection, and the consent that it comes from. */
export function Consent({ connection }: { connection: Schemas["Connection"] }) {
  const { t } = useLingui();
  const { can } = useTenant();
  const { grant, error, refetch, authorize, isWaiting, stop } = useConsent(connection);
  const isForPeople = connection.kind === "oauth2AuthorizationCode";
  return (
    <Section
      title={t`Access token`}
      actions={
        isForPeople &&
        can("editor") && (
          <Button
            look={grant?.status === "active" ? "plain" : "primary"}
            icon={ExternalLink}
            label={grant?.status === "active" ? t`Consent again` : t`Connect`}
            onClick={() => void authorize()}
          />
        )
      }
    >
      {error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : null}
      {isWaiting && <Waiting onStop={stop} />}
      {!grant && !error && <Skeleton lines={2} />}
      {grant && (
        <Facts>
          <Fact label={t`State`} value={<StateBadge of={grantStates[grant.status]} />} />
          <Fact label={t`Scopes`} value={grant.scopes.join(" ")} />
          <Fact label={t`Given`} value={grant.issuedAt && <Time at={grant.issuedAt} />} />
          <Fact label={t`Ends`} value={grant.expiresAt && <Time at={grant.expiresAt} />} />
          <Fact
            label={t`Last failure`}
            value={
              grant.failure && (
                <span>
                  {grant.failure.message} <code className="text-quiet">{grant.failure.code}</code> <Time at={grant.failure.failedAt} />
                </span>
              )
            }
          />
        </Facts>
      )}
    </Section>
  );
}

/** Says that a person consents in another window. */
export function Waiting({ onStop }: { onStop: () => void }) {
  const { t } = useLingui();
  return (
    <p role="status" className="flex flex-wrap items-center gap-3 rounded-md border border-line bg-panel p-3">
      {t`Waiting for your consent in the other window.`}
      <Button label={t`Stop waiting`} onClick={onStop} />
    </p>
  );
}
