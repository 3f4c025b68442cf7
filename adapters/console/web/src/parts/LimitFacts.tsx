import { Plural, Trans, useLingui } from "@lingui/react/macro";
import type { Schemas } from "@/api";
import { Fact } from "@/ui";

/** What the operator grants a tenant, as facts. */
export function LimitFacts({ of: { secret, public: everybody, runRetentionDays } }: { of: Schemas["Limits"] }) {
  const { t } = useLingui();
  return (
    <>
      <Fact label={t`Secret keys, together`} value={<Quota {...secret} />} />
      <Fact label={t`Public keys, together`} value={<Quota {...everybody} />} />
      <Fact label={t`Finished runs are kept`} value={<Plural value={runRetentionDays} one="# day" other="# days" />} />
    </>
  );
}

const Quota = ({ requestsPerMinute, concurrentRequests }: Schemas["Quota"]) => (
  <Trans>
    {requestsPerMinute} requests a minute, {concurrentRequests} at the same time
  </Trans>
);
