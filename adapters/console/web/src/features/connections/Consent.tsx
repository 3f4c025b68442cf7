import { useLingui } from "@lingui/react/macro";
import { ExternalLink } from "lucide-react";
import { useEffect, useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { Button, ErrorPanel, Fact, Facts, Section, Skeleton, StateBadge, Time, toast, toastError } from "@/ui";
import { grantStates } from "./words";

type Waiting = { issuedBefore: string | undefined; until: string };

/** What an authorization server has given for a connection, and how a person consents to it. */
export function Consent({ connection }: { connection: Schemas["Connection"] }) {
  const { t } = useLingui();
  const { api, client, can } = useTenant();
  const [waiting, setWaiting] = useState<Waiting | null>(null);
  const path = { params: { path: { id: connection.id } } };
  const { data: grant, error, refetch } = api.useQuery("get", "/connections/{id}/grant", path, { refetchInterval: waiting ? 1_500 : false });

  useEffect(() => {
    if (!waiting || !grant) return;
    if (grant.status === "active" && grant.issuedAt !== waiting.issuedBefore) {
      toast(t`${connection.name} is connected`);
      setWaiting(null);
    } else if (new Date(waiting.until) < new Date()) {
      setWaiting(null);
    }
  }, [grant, waiting, connection.name, t]);

  const authorize = async () => {
    // The window is opened before the answer comes, since browsers stop what opens later. The page in it gets no hold of this one.
    const opened = window.open("about:blank", "_blank", "popup,width=720,height=800");
    if (opened) opened.opener = null;
    try {
      const { data: link } = await client.POST("/connections/{id}/authorize", path);
      if (!link?.url) throw new Error(t`The link was shown before. Try it again.`);
      if (!opened) throw new Error(t`The browser opened no window. Permit windows of this page, and try it again.`);
      setWaiting({ issuedBefore: grant?.issuedAt, until: link.expiresAt });
      opened.location.replace(link.url);
    } catch (failure) {
      opened?.close();
      toastError(failure);
    }
  };
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
      {waiting && (
        <p role="status" className="flex flex-wrap items-center gap-3 rounded-md border border-line bg-panel p-3">
          {t`Waiting for your consent in the other window.`}
          <Button label={t`Stop waiting`} onClick={() => setWaiting(null)} />
        </p>
      )}
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
