import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { type Schemas, useTenant } from "@/api";
import {
  Badge,
  Button,
  type Column,
  Empty,
  Filters,
  Link,
  List,
  Page,
  pageOf,
  SearchFilter,
  SelectFilter,
  Time,
  useSearchParameters,
  useShortcut,
} from "@/ui";
import { Health } from "./Health";
import { NodeForm } from "./NodeForm";
import { NewNodeSecret, NodeSecret } from "./NodeSecret";

type Node = Schemas["CustomNode"];

export default function NodesPage() {
  const { t } = useLingui();
  const { api, id, can } = useTenant();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [parameters] = useSearchParameters();
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<Node | null>(null);
  const { search, active } = parameters;
  const isActive = active === "true" ? true : active === "false" ? false : undefined;
  const query = api.useQuery(
    "get",
    "/custom-nodes",
    { params: { query: { ...pageOf(parameters), search, isActive } } },
    { placeholderData: keepPreviousData },
  );
  useShortcut(can("admin") ? { keys: "c", label: t`Create a custom node`, run: () => setCreating(true) } : undefined);
  const open = (node: Node) => void navigate({ to: `/t/${id}/nodes/${node.id}` });

  const columns: Column<Node>[] = [
    {
      head: <Trans>Name</Trans>,
      cell: (node) => (
        <div className="min-w-32">
          <Link to={`/t/${id}/nodes/${node.id}`}>{node.name}</Link>
          <p>
            <code className="text-quiet">{node.type}</code>
          </p>
        </div>
      ),
    },
    { head: <Trans>Version</Trans>, cell: (node) => node.version },
    { head: <Trans>Health</Trans>, cell: (node) => <Health health={node.health} /> },
    {
      head: <Trans>State</Trans>,
      cell: (node) => <Badge tone={node.isActive ? "ok" : "quiet"}>{node.isActive ? <Trans>Offered</Trans> : <Trans>Not offered</Trans>}</Badge>,
    },
    { head: <Trans>Changed</Trans>, cell: (node) => <Time at={node.updatedAt} />, isMinor: true },
  ];
  const create = can("admin") && (
    <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
      <Trans>Create a custom node</Trans>
    </Button>
  );
  return (
    <Page
      title={t`Custom nodes`}
      description={<Trans>Nodes of workflows that your servers run. The gateway calls them, and signs its calls.</Trans>}
      actions={create}
    >
      <Filters>
        <SearchFilter />
        <SelectFilter name="active" label={t`State`}>
          <option value="">{t`All states`}</option>
          <option value="true">{t`Offered`}</option>
          <option value="false">{t`Not offered`}</option>
        </SelectFilter>
      </Filters>
      <List
        label={t`Custom nodes`}
        columns={columns}
        rowKey={(node) => node.id}
        query={query}
        isFiltered={!!(search || active)}
        empty={
          <Empty title={<Trans>There are no custom nodes yet</Trans>} action={create}>
            <Trans>Create one, and workflows can do what only your servers can.</Trans>
          </Empty>
        }
      />
      {can("admin") && !!query.data?.total && <NodeSecret />}
      {isCreating && (
        <NodeForm
          onClose={() => setCreating(false)}
          onDone={(saved) => {
            setCreating(false);
            void queries.invalidateQueries({ queryKey: ["get", "/custom-nodes"] });
            if (saved.nodeSecret) setMade(saved);
            else open(saved);
          }}
        />
      )}
      {made?.nodeSecret && <NewNodeSecret secret={made.nodeSecret} onClose={() => open(made)} />}
    </Page>
  );
}
