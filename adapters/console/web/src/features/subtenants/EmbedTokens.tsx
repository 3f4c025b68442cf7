import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { Ban } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { Badge, Button, type Column, Confirm, List, pageOf, Section, Time, useSearchParameters } from "@/ui";
import { isAccepted } from "./tokens";

type Token = Schemas["EmbedToken"];

/** The embed tokens of a sub-tenant, to look at and to end. */
export function EmbedTokens({ subTenantId }: { subTenantId: string }) {
  const { t } = useLingui();
  const { api, client } = useTenant();
  const queries = useQueryClient();
  const [parameters] = useSearchParameters();
  const [revoking, setRevoking] = useState<Token | "all" | null>(null);
  const query = api.useQuery(
    "get",
    "/embed-tokens",
    { params: { query: { ...pageOf(parameters), subTenantId } } },
    { placeholderData: keepPreviousData },
  );
  const hasLive = query.data?.items.some((token) => isAccepted(token, new Date())) ?? false;

  const columns: Column<Token>[] = [
    { head: <Trans>Token</Trans>, cell: (token) => <code className="whitespace-nowrap">…{token.lastFour}</code> },
    { head: <Trans>Who</Trans>, cell: (token) => token.subject || <span className="text-quiet">—</span> },
    { head: <Trans>May</Trans>, cell: (token) => <span className="text-quiet">{token.permissions.join(", ")}</span>, isMinor: true },
    {
      head: <Trans>State</Trans>,
      cell: (token) =>
        isAccepted(token, new Date()) ? (
          <Badge tone="ok">
            <Trans>
              Ends <Time at={token.expiresAt} />
            </Trans>
          </Badge>
        ) : (
          <Badge>
            <Trans>Ended</Trans>
          </Badge>
        ),
    },
    { head: <Trans>Last used</Trans>, cell: (token) => (token.lastUsedAt ? <Time at={token.lastUsedAt} /> : <Trans>never</Trans>), isMinor: true },
    {
      head: (
        <span className="sr-only">
          <Trans>Actions</Trans>
        </span>
      ),
      cell: (token) =>
        isAccepted(token, new Date()) && (
          <div className="-my-1 flex justify-end">
            <Button icon={Ban} aria-label={t`Revoke the token …${token.lastFour}`} onClick={() => setRevoking(token)}>
              <Trans>Revoke</Trans>
            </Button>
          </div>
        ),
    },
  ];
  return (
    <Section
      title={<Trans>Embed tokens</Trans>}
      actions={
        hasLive && (
          <Button icon={Ban} onClick={() => setRevoking("all")}>
            <Trans>Revoke all</Trans>
          </Button>
        )
      }
    >
      <List
        label={t`Embed tokens`}
        columns={columns}
        rowKey={(token) => token.id}
        query={query}
        empty={
          <p className="text-quiet">
            <Trans>No page shows the editor to this customer now. Your server makes a token for it: POST /embed-tokens.</Trans>
          </p>
        }
      />
      <Confirm
        isOpen={revoking !== null}
        onClose={() => setRevoking(null)}
        title={revoking === "all" ? <Trans>Revoke all tokens of {subTenantId}?</Trans> : <Trans>Revoke this token?</Trans>}
        action={<Trans>Revoke</Trans>}
        onConfirm={async () => {
          if (revoking === "all") await client.DELETE("/embed-tokens", { params: { query: { subTenantId } } });
          else if (revoking) await client.DELETE("/embed-tokens/{id}", { params: { path: { id: revoking.id } } });
          await queries.invalidateQueries({ queryKey: ["get", "/embed-tokens"] });
        }}
      >
        <p>
          <Trans>Every page that shows the gateway with it stops within a second. Your server can make another one.</Trans>
        </p>
      </Confirm>
    </Section>
  );
}
