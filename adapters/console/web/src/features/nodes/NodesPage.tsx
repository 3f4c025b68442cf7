import { useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { useItems, useReload } from "@/parts";
import { Badge, type Column, Link, ListPage, SearchFilter, SelectFilter, StateBadge, Time } from "@/ui";
import { healthStates } from "./health";
import { NodeForm } from "./NodeForm";
import { NewNodeSecret, NodeSecret } from "./NodeSecret";

type Node = Schemas["CustomNode"];

export default function NodesPage() {
  const { t } = useLingui();
  const { api, id, can } = useTenant();
  const navigate = useNavigate();
  const reload = useReload("/custom-nodes");
  const [made, setMade] = useState<Node | null>(null);
  const query = useItems(api, "/custom-nodes", ["search", "isActive"]);
  const open = (node: Node) => void navigate({ to: `/t/${id}/nodes/${node.id}` });
  const columns: Column<Node>[] = [
    {
      head: t`Name`,
      cell: (node) => (
        <div>
          <Link to={`/t/${id}/nodes/${node.id}`}>{node.name}</Link>
          <p>
            <code className="text-quiet">{node.type}</code>
          </p>
        </div>
      ),
    },
    { head: t`Version`, cell: (node) => node.version, width: "short" },
    { head: t`Health`, cell: (node) => <StateBadge of={healthStates[node.health.status]} />, width: "short" },
    {
      head: t`State`,
      cell: (node) => <Badge tone={node.isActive ? "ok" : "quiet"}>{node.isActive ? t`Offered` : t`Not offered`}</Badge>,
      width: "short",
    },
    { head: t`Changed`, cell: (node) => <Time at={node.updatedAt} />, width: "short", isMinor: true },
  ];
  return (
    <ListPage
      title={t`Custom nodes`}
      description={t`Nodes of workflows that your servers run. The gateway calls them, and signs its calls.`}
      query={query}
      columns={columns}
      filters={
        <>
          <SearchFilter />
          <SelectFilter name="isActive" label={t`State`} all={t`All states`} options={{ true: t`Offered`, false: t`Not offered` }} />
        </>
      }
      empty={{ title: t`There are no custom nodes yet`, text: t`Create one, and workflows can do what only your servers can.` }}
      create={
        can("admin") && {
          label: t`Create a custom node`,
          dialog: (onClose) => (
            <NodeForm
              onClose={onClose}
              onDone={(saved) => {
                onClose();
                void reload();
                if (saved.nodeSecret) setMade(saved);
                else open(saved);
              }}
            />
          ),
        }
      }
    >
      {can("admin") && !!query.data?.total && <NodeSecret />}
      {made?.nodeSecret && <NewNodeSecret secret={made.nodeSecret} onClose={() => open(made)} />}
    </ListPage>
  );
}
