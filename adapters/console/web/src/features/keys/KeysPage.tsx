import { Trans, useLingui } from "@lingui/react/macro";
import { RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { useItems, useReload } from "@/parts";
import { actionsColumn, Badge, type Column, Confirm, ListPage, Menu, MenuItem, Time } from "@/ui";
import { CreateKey } from "./CreateKey";
import { RotateKey } from "./RotateKey";
import { stateOf } from "./state";

type Key = Schemas["ApiKey"];

export default function KeysPage() {
  const { t } = useLingui();
  const { api, client } = useTenant();
  const reload = useReload("/api-keys");
  const [doing, setDoing] = useState<{ what: "rotate" | "revoke"; key: Key } | null>(null);
  const close = () => setDoing(null);
  const columns: Column<Key>[] = [
    { head: t`Name`, cell: (key) => key.name || <span className="text-quiet">—</span> },
    { head: t`Type`, cell: (key) => (key.type === "secret" ? t({ message: "Secret", context: "a key" }) : t`Public`), width: "short" },
    { head: t`Key`, cell: (key) => <code className="whitespace-nowrap">…{key.lastFour}</code>, width: "short" },
    { head: t`State`, cell: (key) => <KeyState of={key} />, width: "short" },
    { head: t`Last used`, cell: (key) => (key.lastUsedAt ? <Time at={key.lastUsedAt} /> : t`never`), width: "short", isMinor: true },
    { head: t`Created`, cell: (key) => <Time at={key.createdAt} />, width: "short", isMinor: true },
    actionsColumn(
      (key) =>
        stateOf(key, new Date()) !== "ended" && (
          <Menu label={t`Actions for the key …${key.lastFour}`}>
            <MenuItem icon={RefreshCw} label={t`Rotate`} onSelect={() => setDoing({ what: "rotate", key })} />
            <MenuItem icon={Trash2} label={t`Revoke`} isDangerous onSelect={() => setDoing({ what: "revoke", key })} />
          </Menu>
        ),
    ),
  ];
  return (
    <ListPage
      title={t`API keys`}
      description={t`Your servers call the API with a secret key. A public key only reads, and may be shown in a browser.`}
      query={useItems(api, "/api-keys")}
      columns={columns}
      empty={{ title: t`There are no keys yet`, text: t`Create a secret key, and your servers can start workflows.` }}
      create={{ label: t`Create a key`, dialog: (onClose) => <CreateKey onClose={onClose} onDone={reload} /> }}
    >
      {doing?.what === "rotate" && <RotateKey apiKey={doing.key} onClose={close} onDone={reload} />}
      {doing?.what === "revoke" && (
        <Confirm
          onClose={close}
          title={t`Revoke this key?`}
          action={t`Revoke the key`}
          onConfirm={async () => {
            await client.DELETE("/api-keys/{id}", { params: { path: { id: doing.key.id } } });
            await reload();
          }}
        >
          <p>
            <Trans>
              Every request with the key {doing.key.name} <code>…{doing.key.lastFour}</code> is refused from then on, within a second and for ever.
              Rotate it instead if something still calls with it.
            </Trans>
          </p>
        </Confirm>
      )}
    </ListPage>
  );
}

function KeyState({ of }: { of: Key }) {
  const { t } = useLingui();
  switch (stateOf(of, new Date())) {
    case "ended":
      return <Badge>{t`Ended`}</Badge>;
    case "active":
      return <Badge tone="ok">{t`Active`}</Badge>;
    case "ending":
      return (
        <Badge tone="warn">
          <Trans>
            Ends <Time at={(of.revokedAt ?? of.expiresAt) as string} />
          </Trans>
        </Badge>
      );
  }
}
