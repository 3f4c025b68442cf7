import { Trans, useLingui } from "@lingui/react/macro";
import { Ban } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { useItems, useReload } from "@/parts";
import { Badge, Button, buttonColumn, type Column, Confirm, List, Section, Time } from "@/ui";
import { isAccepted } from "./tokens";

type Token = Schemas["EmbedToken"];

/** The embed tokens of a sub-tenant, to look at and to end. */
export function EmbedTokens({ subTenantId }: { subTenantId: string }) {
  const { t } = useLingui();
  const { api, client } = useTenant();
  const reload = useReload("/embed-tokens");
  const [revoking, setRevoking] = useState<Token | "all" | null>(null);
  const query = useItems(api, "/embed-tokens", [], { query: { subTenantId } });
  const hasLive = query.data?.items.some((token) => isAccepted(token, new Date())) ?? false;

  const columns: Column<Token>[] = [
    { head: t`Token`, cell: (token) => <code className="whitespace-nowrap">…{token.lastFour}</code>, width: "short" },
    { head: t`Who`, cell: (token) => token.subject || <span className="text-quiet">—</span> },
    { head: t`May`, cell: (token) => <span className="text-quiet">{token.permissions.join(", ")}</span>, isMinor: true },
    {
      head: t`State`,
      cell: (token) =>
        isAccepted(token, new Date()) ? (
          <Badge tone="ok">
            <Trans>
              Ends <Time at={token.expiresAt} />
            </Trans>
          </Badge>
        ) : (
          <Badge>{t`Ended`}</Badge>
        ),
    },
    { head: t`Last used`, cell: (token) => (token.lastUsedAt ? <Time at={token.lastUsedAt} /> : t`never`), width: "short", isMinor: true },
    buttonColumn(
      (token) =>
        isAccepted(token, new Date()) && (
          <Button icon={Ban} label={t`Revoke`} aria-label={t`Revoke the token …${token.lastFour}`} onClick={() => setRevoking(token)} />
        ),
    ),
  ];
  return (
    <Section title={t`Embed tokens`} actions={hasLive && <Button icon={Ban} label={t`Revoke all`} onClick={() => setRevoking("all")} />}>
      <List
        label={t`Embed tokens`}
        columns={columns}
        rowKey={(token) => token.id}
        query={query}
        empty={
          <p className="text-quiet">{t`No page shows the editor to this customer now. Your server makes a token for it: POST /embed-tokens.`}</p>
        }
      />
      {revoking && (
        <Confirm
          onClose={() => setRevoking(null)}
          title={revoking === "all" ? <Trans>Revoke all tokens of {subTenantId}?</Trans> : t`Revoke this token?`}
          action={t`Revoke`}
          onConfirm={async () => {
            if (revoking === "all") await client.DELETE("/embed-tokens", { params: { query: { subTenantId } } });
            else if (revoking) await client.DELETE("/embed-tokens/{id}", { params: { path: { id: revoking.id } } });
            await reload();
          }}
        >
          <p>{t`Every page that shows the gateway with it stops within a second. Your server can make another one.`}</p>
        </Confirm>
      )}
    </Section>
  );
}
