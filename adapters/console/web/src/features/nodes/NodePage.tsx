import { Trans, useLingui } from "@lingui/react/macro";
import { useNavigate, useParams } from "@tanstack/react-router";
import { HeartPulse, Pencil, Power, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTenant } from "@/api";
import { useReload } from "@/parts";
import {
  attempt,
  Badge,
  Button,
  Confirm,
  duration,
  Fact,
  Facts,
  Identifier,
  Json,
  Menu,
  MenuItem,
  MenuLine,
  Page,
  Section,
  StateBadge,
  Time,
  toast,
  toastError,
  UnreadPage,
} from "@/ui";
import { healthStates } from "./health";
import { NodeForm } from "./NodeForm";

export default function NodePage() {
  const { t } = useLingui();
  const { api, client, id: tenantId, can } = useTenant();
  const { nodeId } = useParams({ strict: false }) as { nodeId: string };
  const navigate = useNavigate();
  const [doing, setDoing] = useState<"edit" | "remove" | null>(null);
  const path = { params: { path: { id: nodeId } } };
  const { data: node, error, refetch } = api.useQuery("get", "/custom-nodes/{id}", path);
  const reload = useReload("/custom-nodes");
  const check = api.useMutation("post", "/custom-nodes/{id}/check", { onSuccess: reload, onError: toastError });
  const parents = [{ label: t`Custom nodes`, to: `/t/${tenantId}/nodes` }];
  const close = () => setDoing(null);

  if (!node) return <UnreadPage title={t`Custom node`} parents={parents} query={{ error, refetch }} />;
  const toggle = () =>
    attempt(
      client.PATCH("/custom-nodes/{id}", { ...path, body: { isActive: !node.isActive } }).then(reload),
      node.isActive ? t`New workflows are not offered it any more` : t`Workflows are offered it again`,
    );
  const { health } = node;
  return (
    <Page
      title={node.name}
      parents={parents}
      description={node.description}
      actions={
        <>
          {can("editor") && <Button icon={HeartPulse} label={t`Check`} isBusy={check.isPending} onClick={() => check.mutate(path)} />}
          {can("admin") && (
            <Menu label={t`Actions for ${node.name}`}>
              <MenuItem icon={Pencil} label={t`Edit`} onSelect={() => setDoing("edit")} />
              <MenuItem icon={Power} label={node.isActive ? t`Offer it no more` : t`Offer it again`} onSelect={toggle} />
              <MenuLine />
              <MenuItem icon={Trash2} label={t`Delete`} isDangerous onSelect={() => setDoing("remove")} />
            </Menu>
          )}
        </>
      }
    >
      <Facts>
        <Fact label={t`Health`} value={<StateBadge of={healthStates[health.status]} />} />
        <Fact
          label={t`Checked`}
          value={
            health.checkedAt && (
              <span>
                <Time at={health.checkedAt} />
                {health.latencyMs !== undefined && `, ${duration(health.latencyMs)}`}
              </span>
            )
          }
        />
        <Fact
          label={t`Why`}
          value={
            health.message && (
              <span>
                {health.message} <code className="text-quiet">{health.code}</code>
              </span>
            )
          }
        />
        <Fact
          label={t`State`}
          value={<Badge tone={node.isActive ? "ok" : "quiet"}>{node.isActive ? t`Offered` : t`Not offered: workflows that have it go on`}</Badge>}
        />
        <Fact label={t`Type`} value={<code>{node.type}</code>} />
        <Fact label={t`Version`} value={node.version} />
        <Fact label={t`URL`} value={node.endpoint && <code className="break-all">{node.endpoint}</code>} />
        <Fact label={t`It can pause a run`} value={node.canPause ? t`yes` : t`no`} />
        <Fact label={t`Identifier`} value={<Identifier id={node.id} />} />
        <Fact label={t`Changed`} value={<Time at={node.updatedAt} />} />
      </Facts>
      <Section title={t`Schema of the input`}>
        <Json label={t`Schema of the input`} value={node.inputSchema} />
      </Section>
      <Section title={t`Schema of the output`}>
        <Json label={t`Schema of the output`} value={node.outputSchema} />
      </Section>
      <Section title={t`Schema of the configuration`}>
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
      {doing === "remove" && (
        <Confirm
          onClose={close}
          title={<Trans>Delete {node.name}?</Trans>}
          action={t`Delete the node`}
          typed={node.type}
          onConfirm={async () => {
            await client.DELETE("/custom-nodes/{id}", path);
            await navigate({ to: `/t/${tenantId}/nodes` });
            await reload();
          }}
        >
          <p>
            <Trans>
              Workflows that have a node of the type <code>{node.type}</code> fail there from then on. Offer it no more instead while some still do.
            </Trans>
          </p>
        </Confirm>
      )}
    </Page>
  );
}
