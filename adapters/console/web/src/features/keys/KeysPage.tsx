import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { Plus, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { Badge, Button, type Column, Confirm, Empty, List, Menu, MenuItem, Page, pageOf, Time, useSearchParameters, useShortcut } from "@/ui";
import { CreateKey } from "./CreateKey";
import { RotateKey } from "./RotateKey";
import { stateOf } from "./state";

type Key = Schemas["ApiKey"];
type Doing = { what: "create" } | { what: "rotate" | "revoke"; key: Key } | null;

export default function KeysPage() {
  const { t } = useLingui();
  const { api, client } = useTenant();
  const queries = useQueryClient();
  const [parameters] = useSearchParameters();
  const [doing, setDoing] = useState<Doing>(null);
  const query = api.useQuery("get", "/api-keys", { params: { query: pageOf(parameters) } }, { placeholderData: keepPreviousData });
  const reload = () => queries.invalidateQueries({ queryKey: ["get", "/api-keys"] });
  const close = () => setDoing(null);
  useShortcut({ keys: "c", label: t`Create a key`, run: () => setDoing({ what: "create" }) });

  const columns: Column<Key>[] = [
    { head: <Trans>Name</Trans>, cell: (key) => key.name || <span className="text-quiet">—</span> },
    { head: <Trans>Type</Trans>, cell: (key) => (key.type === "secret" ? <Trans>Secret</Trans> : <Trans>Public</Trans>) },
    { head: <Trans>Key</Trans>, cell: (key) => <code className="whitespace-nowrap">…{key.lastFour}</code> },
    { head: <Trans>State</Trans>, cell: (key) => <State apiKey={key} /> },
    { head: <Trans>Last used</Trans>, cell: (key) => (key.lastUsedAt ? <Time at={key.lastUsedAt} /> : <Trans>never</Trans>), isMinor: true },
    { head: <Trans>Created</Trans>, cell: (key) => <Time at={key.createdAt} />, isMinor: true },
    {
      head: (
        <span className="sr-only">
          <Trans>Actions</Trans>
        </span>
      ),
      cell: (key) =>
        stateOf(key, new Date()) !== "ended" && (
          <div className="-my-1 flex justify-end">
            <Menu label={t`Actions for the key …${key.lastFour}`}>
              <MenuItem icon={RefreshCw} onSelect={() => setDoing({ what: "rotate", key })}>
                <Trans>Rotate</Trans>
              </MenuItem>
              <MenuItem icon={Trash2} isDangerous onSelect={() => setDoing({ what: "revoke", key })}>
                <Trans>Revoke</Trans>
              </MenuItem>
            </Menu>
          </div>
        ),
    },
  ];
  const create = (
    <Button look="primary" icon={Plus} onClick={() => setDoing({ what: "create" })}>
      <Trans>Create a key</Trans>
    </Button>
  );
  return (
    <Page
      title={t`API keys`}
      description={<Trans>Your servers call the API with a secret key. A public key only reads, and may be shown in a browser.</Trans>}
      actions={create}
    >
      <List
        label={t`API keys`}
        columns={columns}
        rowKey={(key) => key.id}
        query={query}
        empty={
          <Empty title={<Trans>There are no keys yet</Trans>} action={create}>
            <Trans>Create a secret key, and your servers can start workflows.</Trans>
          </Empty>
        }
      />
      {doing?.what === "create" && <CreateKey onClose={close} onDone={reload} />}
      {doing?.what === "rotate" && <RotateKey apiKey={doing.key} onClose={close} onDone={reload} />}
      <Confirm
        isOpen={doing?.what === "revoke"}
        onClose={close}
        title={<Trans>Revoke this key?</Trans>}
        action={<Trans>Revoke the key</Trans>}
        onConfirm={async () => {
          if (doing?.what !== "revoke") return;
          await client.DELETE("/api-keys/{id}", { params: { path: { id: doing.key.id } } });
          await reload();
        }}
      >
        {doing?.what === "revoke" && (
          <p>
            <Trans>
              Every request with the key {doing.key.name} <code>…{doing.key.lastFour}</code> is refused from then on, within a second and for ever.
              Rotate it instead if something still calls with it.
            </Trans>
          </p>
        )}
      </Confirm>
    </Page>
  );
}

function State({ apiKey }: { apiKey: Key }) {
  switch (stateOf(apiKey, new Date())) {
    case "ended":
      return (
        <Badge>
          <Trans>Ended</Trans>
        </Badge>
      );
    case "ending":
      return (
        <Badge tone="warn">
          <Trans>
            Ends <Time at={(apiKey.revokedAt ?? apiKey.expiresAt) as string} />
          </Trans>
        </Badge>
      );
    default:
      return (
        <Badge tone="ok">
          <Trans>Active</Trans>
        </Badge>
      );
  }
}
