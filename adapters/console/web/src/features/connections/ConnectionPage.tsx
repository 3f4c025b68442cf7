import { Trans, useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { FlaskConical, Pencil, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTenant } from "@/api";
import { Badge, Button, ErrorPanel, Facts, Identifier, Menu, MenuItem, MenuLine, Page, Section, Skeleton, Time, toast, toastError } from "@/ui";
import { ConnectionForm } from "./ConnectionForm";
import { Consent } from "./Consent";
import { DeleteConnection } from "./DeleteConnection";
import { isOAuth, redacted, shownMember } from "./secret";
import { TestConnection } from "./TestConnection";
import { kindWords, memberWords } from "./words";

export default function ConnectionPage() {
  const { t, i18n } = useLingui();
  const { api, client, id: tenantId, can } = useTenant();
  const { connectionId } = useParams({ strict: false }) as { connectionId: string };
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [doing, setDoing] = useState<"edit" | "test" | "remove" | null>(null);
  const path = { params: { path: { id: connectionId } } };
  const { data: connection, error, refetch } = api.useQuery("get", "/connections/{id}", path);
  const reload = () => queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[1]).startsWith("/connections") });
  const parents = [{ label: <Trans>Connections</Trans>, to: `/t/${tenantId}/connections` }];
  const close = () => setDoing(null);

  if (!connection) {
    return (
      <Page title={t`Connection`} parents={parents}>
        {error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : <Skeleton />}
      </Page>
    );
  }
  const toggle = async () => {
    try {
      await client.PATCH("/connections/{id}", { ...path, body: { isActive: !connection.isActive } });
      await reload();
      toast(connection.isActive ? t`The connection is off` : t`The connection is on`);
    } catch (failure) {
      toastError(failure);
    }
  };
  return (
    <Page
      title={connection.name}
      parents={parents}
      actions={
        can("editor") && (
          <>
            {connection.hosts.length > 0 && (
              <Button icon={FlaskConical} onClick={() => setDoing("test")}>
                <Trans>Test</Trans>
              </Button>
            )}
            <Menu label={t`Actions for ${connection.name}`}>
              <MenuItem icon={Pencil} onSelect={() => setDoing("edit")}>
                <Trans>Edit, or rotate the secret</Trans>
              </MenuItem>
              <MenuItem icon={Power} onSelect={() => void toggle()}>
                {connection.isActive ? <Trans>Switch off</Trans> : <Trans>Switch on</Trans>}
              </MenuItem>
              <MenuLine />
              <MenuItem icon={Trash2} isDangerous onSelect={() => setDoing("remove")}>
                <Trans>Delete</Trans>
              </MenuItem>
            </Menu>
          </>
        )
      }
    >
      <Facts
        facts={[
          [
            <Trans key="l">State</Trans>,
            <Badge key="v" tone={connection.isActive ? "ok" : "quiet"}>
              {connection.isActive ? <Trans>On</Trans> : <Trans>Off: what uses it fails</Trans>}
            </Badge>,
          ],
          [<Trans key="l">Kind</Trans>, i18n._(kindWords[connection.kind])],
          [
            <Trans key="l">Hosts</Trans>,
            connection.hosts.map((host) => (
              <code key={host} className="block break-all">
                {host}
              </code>
            )),
          ],
          [<Trans key="l">Identifier</Trans>, <Identifier key="v" id={connection.id} />],
          [<Trans key="l">Sub-tenant</Trans>, connection.subTenantId],
          [<Trans key="l">Shared with sub-tenants</Trans>, connection.shared ? t`yes` : t`no`],
          [<Trans key="l">Changed</Trans>, <Time key="v" at={connection.updatedAt} />],
        ]}
      />
      {isOAuth(connection.kind) && <Consent connection={connection} />}
      <Section title={<Trans>Secret</Trans>}>
        <Facts
          facts={Object.entries(connection.secret).map(([name, value]) => {
            const word = connection.kind === "header" || connection.kind === "query" ? undefined : memberWords[name];
            return [word ? i18n._(word) : <code key="l">{name}</code>, value === redacted ? t`kept, never shown` : shownMember(value)];
          })}
        />
      </Section>
      {doing === "test" && <TestConnection connection={connection} onClose={close} />}
      {doing === "edit" && (
        <ConnectionForm
          connection={connection}
          onClose={close}
          onDone={() => {
            close();
            void reload();
            toast(t`The connection was saved`);
          }}
        />
      )}
      {doing === "remove" && (
        <DeleteConnection
          connection={connection}
          onClose={close}
          onDone={async () => {
            await navigate({ to: `/t/${tenantId}/connections` });
            await queries.invalidateQueries({ queryKey: ["get", "/connections"] });
          }}
        />
      )}
    </Page>
  );
}
