import { useLingui } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { Copy, Download, FileUp } from "lucide-react";
import { useRef } from "react";
import { type Schemas, useTenant } from "@/api";
import { useItems } from "@/parts";
import {
  actionsColumn,
  attempt,
  Button,
  type Column,
  Link,
  ListPage,
  Menu,
  MenuItem,
  Metadata,
  OnOff,
  OnOffFilter,
  SearchFilter,
  Time,
  toast,
  toastError,
} from "@/ui";
import { type Made, useWorkflowActions } from "./actions";
import { CreateWorkflow } from "./CreateWorkflow";
import { parseDocument } from "./document";

type Workflow = Schemas["Workflow"];

export default function WorkflowsPage() {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { api, id, can } = useTenant();
  const actions = useWorkflowActions();
  const file = useRef<HTMLInputElement>(null);
  const open = (workflow: Workflow) => void navigate({ to: `/t/${id}/workflows/${workflow.id}` });
  const openMade = ({ workflow, missing }: Made) => {
    const names = missing.join(", ");
    if (missing.length > 0) toast(t`To be chosen before it is published: ${names}`);
    open(workflow);
  };

  const importFile = async (chosen: File | undefined) => {
    if (!chosen) return;
    const document = parseDocument(await chosen.text());
    if (document === "not-json") return toastError(t`${chosen.name} is no JSON.`);
    if (document === "not-a-workflow") return toastError(t`${chosen.name} holds no workflow: it needs a name, nodes and edges.`);
    return attempt(actions.create(document).then(openMade), t`The workflow was imported as a draft`);
  };
  const duplicate = (workflow: Workflow) =>
    attempt(actions.duplicate(workflow, t`Copy of ${workflow.name}`).then(open), t`The workflow was duplicated`);

  const columns: Column<Workflow>[] = [
    {
      head: t`Name`,
      cell: (workflow) => (
        <div>
          <Link to={`/t/${id}/workflows/${workflow.id}`} className="font-medium text-accent hover:underline">
            {workflow.name}
          </Link>
          {workflow.description && <p className="line-clamp-1 text-quiet">{workflow.description}</p>}
        </div>
      ),
    },
    {
      head: t`State`,
      cell: (workflow) => <OnOff of={workflow} />,
      width: "short",
    },
    {
      head: t`Metadata`,
      cell: (workflow) => <Metadata of={workflow.metadata} />,
      isMinor: true,
    },
    { head: t`Changed`, cell: (workflow) => <Time at={workflow.updatedAt} />, width: "short", isMinor: true },
    actionsColumn((workflow) => (
      <Menu label={t`Actions for ${workflow.name}`}>
        {can("editor") && <MenuItem icon={Copy} label={t`Duplicate`} onSelect={() => duplicate(workflow)} />}
        <MenuItem icon={Download} label={t`Export as JSON`} onSelect={() => void actions.exportFile(workflow).catch(toastError)} />
      </Menu>
    )),
  ];
  return (
    <ListPage
      title={t`Workflows`}
      query={useItems(api, "/workflows", ["search", "isActive"])}
      columns={columns}
      filters={
        <>
          <SearchFilter label={t`Search by name or description`} />
          <OnOffFilter />
        </>
      }
      empty={{
        title: t`There are no workflows yet`,
        text: t`A workflow says what happens when something happens: a call, an event, a time of day.`,
      }}
      actions={can("editor") && <Button icon={FileUp} label={t`Import`} onClick={() => file.current?.click()} />}
      create={
        can("editor") && {
          label: t`Create a workflow`,
          dialog: (onClose) => (
            <CreateWorkflow
              onClose={onClose}
              onDone={(made) => {
                void actions.reload();
                openMade(made);
              }}
            />
          ),
        }
      }
    >
      <input
        ref={file}
        type="file"
        accept="application/json,.json"
        aria-label={t`A workflow as JSON`}
        hidden
        onChange={(event) => {
          void importFile(event.target.files?.[0]);
          event.target.value = "";
        }}
      />
    </ListPage>
  );
}
