import { Trans, useLingui } from "@lingui/react/macro";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { HeartPulse, Pencil, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTenant } from "@/api";
import {
  Badge,
  Button,
  Confirm,
  duration,
  ErrorPanel,
  Facts,
  Identifier,
  Json,
  Menu,
  MenuItem,
  MenuLine,
  Page,
  Section,
  Skeleton,
  Time,
  toast,
  toastError,
} from "@/ui";
import { Health } from "./Health";
import { NodeForm } from "./NodeForm";

export default function NodePage() {
  const { t } = useLingui();
  const { api, client, id: tenantId, can } = useTenant();
  const { nodeId } = useParams({ strict: false }) as { nodeId: string };
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [doing, setDoing] = useState<"edit" | "remove" | null>(null);
  const path = { params: { path: { id: nodeId } } };
  const { data: node, error, refetch } = api.useQuery("get", "/custom-nodes/{id}", path);
  const reload = () => queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[1]).startsWith("/custom-nodes") });
  const check = api.useMutation("post", "/custom-nodes/{id}/check", { onSuccess: reload, onError: toastError });
  const parents = [{ label: <Trans>Custom nodes</Trans>, to: `/t/${tenantId}/nodes` }];
  const close = () => setDoing(null);

  if (!node) {
    return (
      <Page title={t`Custom node`} parents={parents}>
        {error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : <Skeleton />}
      </Page>
    );
  }
  const toggle = async () => {
    try {
      await client.PATCH("/custom-nodes/{id}", { ...path, body: { isActive: !node.isActive } });
      await reload();
      toast(node.isActive ? t`New workflows are not offered it any more` : t`Workflows are offered it again`);
    } catch (failure) {
      toastError(failure);
    }
  };
  const { health } = node;
  return (
    <Page
      title={node.name}
      parents={parents}
      description={node.description}
      actions={
        <>
          {can("editor") && (
            <Button icon={HeartPulse} isBusy={check.isPending} onClick={() => check.mutate(path)}>
              <Trans>Check</Trans>
            </Button>
          )}
          {can("admin") && (
            <Menu label={t`Actions for ${node.name}`}>
              <MenuItem icon={Pencil} onSelect={() => setDoing("edit")}>
                <Trans>Edit</Trans>
              </MenuItem>
              <MenuItem icon={Power} onSelect={() => void toggle()}>
                {node.isActive ? <Trans>Offer it no more</Trans> : <Trans>Offer it again</Trans>}
              </MenuItem>
              <MenuLine />
              <MenuItem icon={Trash2} isDangerous onSelect={() => setDoing("remove")}>
                <Trans>Delete</Trans>
              </MenuItem>
            </Menu>
          )}
        </>
      }
    >
      <Facts
        facts={[
          [<Trans key="l">Health</Trans>, <Health key="v" health={health} />],
          [
            <Trans key="l">Checked</Trans>,
            health.checkedAt && (
              <span key="v">
                <Time at={health.checkedAt} />
                {health.latencyMs !== undefined && `, ${duration(health.latencyMs)}`}
              </span>
            ),
          ],
          [
            <Trans key="l">Why</Trans>,
            health.message && (
              <span key="v">
                {health.message} <code className="text-quiet">{health.code}</code>
              </span>
            ),
          ],
          [
            <Trans key="l">State</Trans>,
            <Badge key="v" tone={node.isActive ? "ok" : "quiet"}>
              {node.isActive ? <Trans>Offered</Trans> : <Trans>Not offered: workflows that have it go on</Trans>}
            </Badge>,
          ],
          [<Trans key="l">Type</Trans>, <code key="v">{node.type}</code>],
          [<Trans key="l">Version</Trans>, node.version],
          [
            <Trans key="l">URL</Trans>,
            node.endpoint && (
              <code key="v" className="break-all">
                {node.endpoint}
              </code>
            ),
          ],
          [<Trans key="l">It can pause a run</Trans>, node.canPause ? t`yes` : t`no`],
          [<Trans key="l">Identifier</Trans>, <Identifier key="v" id={node.id} />],
          [<Trans key="l">Changed</Trans>, <Time key="v" at={node.updatedAt} />],
        ]}
      />
      <Section title={<Trans>Schema of the input</Trans>}>
        <Json label={t`Schema of the input`} value={node.inputSchema} />
      </Section>
      <Section title={<Trans>Schema of the output</Trans>}>
        <Json label={t`Schema of the output`} value={node.outputSchema} />
      </Section>
      <Section title={<Trans>Schema of the configuration</Trans>}>
        <Json label={t`Schema of the configuration`} value={node.configSchema} />
      </Section>
      {doing === "edit" && (
        <NodeForm
          node={node}
          onClose={close}
          onDone={() => {
            close();
            void reload();
            toast(t`The node was saved`);
          }}
        />
      )}
      <Confirm
        isOpen={doing === "remove"}
        onClose={close}
        title={<Trans>Delete {node.name}?</Trans>}
        action={<Trans>Delete the node</Trans>}
        typed={node.type}
        onConfirm={async () => {
          await client.DELETE("/custom-nodes/{id}", path);
          await navigate({ to: `/t/${tenantId}/nodes` });
          await queries.invalidateQueries({ queryKey: ["get", "/custom-nodes"] });
        }}
      >
        <p>
          <Trans>
            Workflows that have a node of the type <code>{node.type}</code> fail there from then on. Offer it no more instead while some still do.
          </Trans>
        </p>
      </Confirm>
    </Page>
  );
}
