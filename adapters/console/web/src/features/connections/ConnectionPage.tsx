import { useLingui } from "@lingui/react/macro";
import { useNavigate, useParams } from "@tanstack/react-router";
import { FlaskConical, Pencil, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTenant } from "@/api";
import { useReload } from "@/parts";
import { ConnectionForm, Consent, isNamed, isOAuth, kindWords, memberWords, redacted, shownMember } from "@/parts/connections";
import { attempt, Button, Fact, Facts, Identifier, Menu, MenuItem, MenuLine, OnOff, Page, Section, Time, toast, UnreadPage } from "@/ui";
import { DeleteConnection } from "./DeleteConnection";
import { TestConnection } from "./TestConnection";

export default function ConnectionPage() {
  const { t, i18n } = useLingui();
  const { api, client, id: tenantId, can } = useTenant();
  const { connectionId } = useParams({ strict: false }) as { connectionId: string };
  const navigate = useNavigate();
  const [doing, setDoing] = useState<"edit" | "test" | "remove" | null>(null);
  const path = { params: { path: { id: connectionId } } };
  const { data: connection, error, refetch } = api.useQuery("get", "/connections/{id}", path);
  const reload = useReload("/connections");
  const parents = [{ label: t`Connections`, to: `/t/${tenantId}/connections` }];
  const close = () => setDoing(null);

  if (!connection) return <UnreadPage title={t`Connection`} parents={parents} query={{ error, refetch }} />;
  const toggle = () =>
    attempt(
      client.PATCH("/connections/{id}", { ...path, body: { isActive: !connection.isActive } }).then(reload),
      connection.isActive ? t`The connection is off` : t`The connection is on`,
    );
  return (
    <Page
      title={connection.name}
      parents={parents}
      actions={
        can("editor") && (
          <>
            {connection.hosts.length > 0 && <Button icon={FlaskConical} label={t`Test`} onClick={() => setDoing("test")} />}
            <Menu label={t`Actions for ${connection.name}`}>
              <MenuItem icon={Pencil} label={t`Edit, or rotate the secret`} onSelect={() => setDoing("edit")} />
              <MenuItem icon={Power} label={connection.isActive ? t`Switch off` : t`Switch on`} onSelect={toggle} />
              <MenuLine />
              <MenuItem icon={Trash2} label={t`Delete`} isDangerous onSelect={() => setDoing("remove")} />
            </Menu>
          </>
        )
      }
    >
      <Facts>
        <Fact label={t`State`} value={<OnOff of={connection} off={t`Off: what uses it fails`} />} />
        <Fact label={t`Kind`} value={i18n._(kindWords[connection.kind])} />
        <Fact
          label={t`Hosts`}
          value={connection.hosts.map((host) => (
            <code key={host} className="block break-all">
              {host}
            </code>
          ))}
        />
        <Fact label={t`Identifier`} value={<Identifier id={connection.id} />} />
        <Fact label={t`Sub-tenant`} value={connection.subTenantId} />
        <Fact label={t`Shared with sub-tenants`} value={connection.shared ? t`yes` : t`no`} />
        <Fact label={t`Changed`} value={<Time at={connection.updatedAt} />} />
      </Facts>
      {isOAuth(connection.kind) && <Consent connection={connection} />}
      <Section title={t`Secret`}>
        <Facts>
          {Object.entries(connection.secret).map(([name, value]) => {
            const word = isNamed(connection.kind) ? undefined : memberWords[name];
            const label = word ? i18n._(word) : <code>{name}</code>;
            return <Fact key={name} label={label} value={value === redacted ? t`kept, never shown` : shownMember(value)} />;
          })}
        </Facts>
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
            await reload();
          }}
        />
      )}
    </Page>
  );
}
