import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Copy, Download, FileUp, Plus } from "lucide-react";
import { useRef, useState } from "react";
import { type Schemas, useTenant } from "@/api";
import {
  Badge,
  Button,
  type Column,
  Empty,
  Filters,
  Link,
  List,
  Menu,
  MenuItem,
  Metadata,
  Page,
  pageOf,
  SearchFilter,
  SelectFilter,
  Time,
  toast,
  toastError,
  useSearchParameters,
  useShortcut,
} from "@/ui";
import { useWorkflowActions } from "./actions";
import { CreateWorkflow } from "./CreateWorkflow";
import { parseDocument } from "./document";

type Workflow = Schemas["Workflow"];

export default function WorkflowsPage() {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { api, id, can } = useTenant();
  const actions = useWorkflowActions();
  const [parameters] = useSearchParameters();
  const [isCreating, setCreating] = useState(false);
  const file = useRef<HTMLInputElement>(null);
  const { search, active } = parameters;
  const isActive = active === "true" ? true : active === "false" ? false : undefined;
  const query = api.useQuery(
    "get",
    "/workflows",
    { params: { query: { ...pageOf(parameters), search, isActive } } },
    { placeholderData: keepPreviousData },
  );
  const open = (workflow: Workflow) => void navigate({ to: `/t/${id}/workflows/${workflow.id}` });
  useShortcut(can("editor") ? { keys: "c", label: t`Create a workflow`, run: () => setCreating(true) } : undefined);

  const importFile = async (chosen: File | undefined) => {
    if (!chosen) return;
    const document = parseDocument(await chosen.text());
    if (document === "not-json") return toastError(t`${chosen.name} is no JSON.`);
    if (document === "not-a-workflow") return toastError(t`${chosen.name} holds no workflow: it needs a name, nodes and edges.`);
    try {
      open(await actions.create(document));
      toast(t`The workflow was imported as a draft`);
    } catch (failure) {
      toastError(failure);
    }
  };
  const duplicate = async (workflow: Workflow) => {
    try {
      open(await actions.duplicate(workflow, t`Copy of ${workflow.name}`));
      toast(t`The workflow was duplicated`);
    } catch (failure) {
      toastError(failure);
    }
  };

  const columns: Column<Workflow>[] = [
    {
      head: <Trans>Name</Trans>,
      cell: (workflow) => (
        <div className="min-w-40">
          <Link to={`/t/${id}/workflows/${workflow.id}`} className="font-medium text-accent hover:underline">
            {workflow.name}
          </Link>
          {workflow.description && <p className="line-clamp-1 text-quiet">{workflow.description}</p>}
        </div>
      ),
    },
    {
      head: <Trans>State</Trans>,
      cell: (workflow) => <Badge tone={workflow.isActive ? "ok" : "quiet"}>{workflow.isActive ? <Trans>On</Trans> : <Trans>Off</Trans>}</Badge>,
    },
    {
      head: <Trans>Metadata</Trans>,
      cell: (workflow) => <Metadata of={workflow.metadata} />,
      isMinor: true,
    },
    { head: <Trans>Changed</Trans>, cell: (workflow) => <Time at={workflow.updatedAt} />, isMinor: true },
    {
      head: (
        <span className="sr-only">
          <Trans>Actions</Trans>
        </span>
      ),
      cell: (workflow) => (
        <div className="-my-1 flex justify-end">
          <Menu label={t`Actions for ${workflow.name}`}>
            {can("editor") && (
              <MenuItem icon={Copy} onSelect={() => void duplicate(workflow)}>
                <Trans>Duplicate</Trans>
              </MenuItem>
            )}
            <MenuItem icon={Download} onSelect={() => void actions.exportFile(workflow).catch(toastError)}>
              <Trans>Export as JSON</Trans>
            </MenuItem>
          </Menu>
        </div>
      ),
    },
  ];
  const buttons = can("editor") && (
    <>
      <Button icon={FileUp} onClick={() => file.current?.click()}>
        <Trans>Import</Trans>
      </Button>
      <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
        <Trans>Create a workflow</Trans>
      </Button>
    </>
  );
  return (
    <Page title={t`Workflows`} actions={buttons}>
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
      <Filters>
        <SearchFilter label={t`Search by name or description`} />
        <SelectFilter name="active" label={t`State`}>
          <option value="">{t`On and off`}</option>
          <option value="true">{t`On`}</option>
          <option value="false">{t`Off`}</option>
        </SelectFilter>
      </Filters>
      <List
        label={t`Workflows`}
        columns={columns}
        rowKey={(workflow) => workflow.id}
        query={query}
        isFiltered={Boolean(search || active)}
        empty={
          <Empty title={<Trans>There are no workflows yet</Trans>} action={<div className="flex gap-2">{buttons}</div>}>
            <Trans>A workflow says what happens when something happens: a call, an event, a time of day.</Trans>
          </Empty>
        }
      />
      {isCreating && (
        <CreateWorkflow
          onClose={() => setCreating(false)}
          onDone={(made) => {
            void actions.reload();
            open(made);
          }}
        />
      )}
    </Page>
  );
}
