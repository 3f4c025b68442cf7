import { type Schemas, useTenant } from "@/api";
import { useReload } from "@/parts";
import { documentOf, download, type WorkflowDocument } from "./document";

/** What can be done with whole workflows. */
export function useWorkflowActions() {
  const { client } = useTenant();
  const reload = useReload("/workflow");

  /** Reads the version that is active, or else the newest one, and makes the file of the workflow. */
  const documentFor = async (workflow: Schemas["Workflow"]): Promise<WorkflowDocument> => {
    const list = (query: { isActive?: boolean }) =>
      client.GET("/workflow-versions", { params: { query: { workflowId: workflow.id, limit: 1, ...query } } });
    const [active] = (await list({ isActive: true })).data?.items ?? [];
    return documentOf(workflow, active ?? (await list({})).data?.items[0]);
  };

  /** Makes a workflow of a file, with a draft of its first version. */
  const create = async ({ name, description, metadata, nodes, edges }: WorkflowDocument): Promise<Schemas["Workflow"]> => {
    const { data: made } = await client.POST("/workflows", { body: { name, description, metadata } });
    const workflow = made as Schemas["Workflow"];
    try {
      if (nodes.length > 0) await client.POST("/workflow-versions", { body: { workflowId: workflow.id, nodes, edges } });
    } catch (failure) {
      await client.DELETE("/workflows/{id}", { params: { path: { id: workflow.id } } }); // nothing is left of what did not work
      throw failure;
    }
    await reload();
    return workflow;
  };

  return {
    reload,
    create,
    exportFile: async (workflow: Schemas["Workflow"]) => download(workflow.name, await documentFor(workflow)),
    duplicate: async (workflow: Schemas["Workflow"], name: string) => create({ ...(await documentFor(workflow)), name }),
  };
}
