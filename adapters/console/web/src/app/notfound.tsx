import { useLingui } from "@lingui/react/macro";
import { Empty, Link, Page } from "@/ui";

export function NotFound() {
  const { t } = useLingui();
  return (
    <Page title={t`There is nothing here`}>
      <Empty title={t`The address is wrong, or what was there is gone.`} action={<Link to="/">{t`To the overview`}</Link>} />
    </Page>
  );
}

/** For whose role does not reach a page. */
export function NotAllowed() {
  const { t } = useLingui();
  return (
    <Page title={t`Your role does not reach this page`}>
      <Empty title={t`Ask an admin of the tenant for another role.`} />
    </Page>
  );
}

/** For who is no member of a tenant yet. */
export function NoTenant() {
  const { t } = useLingui();
  return (
    <main>
      <Page title={t`You are no member of a tenant yet`}>
        <Empty title={t`Ask who invited you to add you to a tenant.`} />
      </Page>
    </main>
  );
}
