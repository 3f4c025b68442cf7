import { ApiError, type Schemas, useTenant } from "@/api";
import { useReload } from "@/parts";
import { documentOf, download, type Kind, kinds, nodesOf, type Reference, referenceOf, type WorkflowDocument } from "./document";
import { type Members, replaced } from "./file";

/** What was made of a file, and which of the names in it stand for nothing. */
export type Made = { workflow: Schemas["Workflow"]; missing: string[] };

/** The connections that stand for names of a file, by these. */
export type Choices = Record<string, string>;

/** What can be done with whole workflows. */
export function useWorkflowActions() {
  const { client } = useTenant();
  const reload = useReload("/workflow");

  /** Reads the version that is active, or else the newest one, and makes the file of the workflow. */
  const documentFor = async (workflow: Schemas["Workflow"]): Promise<WorkflowDocument> => {
    const list = async (query: { isActive?: boolean }) =>
      (await client.GET("/workflow-versions", { params: { query: { workflowId: workflow.id, limit: 1, ...query } } })).data?.items[0];
    const version = (await list({ isActive: true })) ?? (await list({}));
    if (!version) return documentOf(workflow, undefined);
    const listed = await client.GET("/triggers", {
      params: { query: { workflowVersionId: version.id, limit: 100, sortBy: "createdAt", sortOrder: "asc" } },
    });
    const triggers = await Promise.all((listed.data?.items ?? []).map(async (trigger) => ({ ...trigger, hook: await hookOf(trigger) })));
    return documentOf(workflow, version, triggers, await namesIn([version.nodes, triggers]));
  };

  const hookOf = async ({ id, type }: Schemas["Trigger"]) => {
    if (type !== "webhook") return undefined;
    return (await client.GET("/triggers/{id}/hook", { params: { path: { id } } }).catch(absent))?.data;
  };

  /** Reads the names of the connections and workflows whose identifiers stand in a value. */
  const namesIn = async (value: unknown) => {
    const ids = new Set(JSON.stringify(value).match(/\b(?:conn|wf)_[0-9a-z]{26}\b/g));
    const names = new Map<string, Reference>();
    for (const id of ids) {
      const kind: Kind = id.startsWith("wf_") ? "$workflow" : "$connection";
      const found = await client.GET(`${kinds[kind]}/{id}`, { params: { path: { id } } }).catch(absent);
      if (found?.data) names.set(id, { kind, name: found.data.name });
    }
    return names;
  };

  const idOf = async ({ kind, name }: Reference): Promise<string | undefined> => {
    const { data } = await client.GET(kinds[kind], { params: { query: { search: name, limit: 100 } } });
    return (data?.items as { id: string; name: string }[] | undefined)?.find((one) => one.name === name)?.id;
  };

  /** Makes a workflow of a file, with a draft of its first version and its triggers. A name that stands for nothing is kept, so
   * that publishing says so; a hook is left out then. */
  const create = async (document: WorkflowDocument, choices: Choices = {}, subTenantId?: string): Promise<Made> => {
    const ids = new Map<string, string | undefined>(Object.entries(choices).map(([name, id]) => [`$connection ${name}`, id]));
    const references: Reference[] = [];
    replaced([document.nodes, document.triggers], (one) => {
      const reference = referenceOf(one);
      if (reference) references.push(reference);
      return reference;
    });
    for (const reference of references) {
      const key = `${reference.kind} ${reference.name}`;
      if (!ids.get(key)) ids.set(key, await idOf(reference));
    }
    const identified = <T>(value: T): T =>
      replaced(value, (one) => {
        const reference = referenceOf(one);
        return reference && (ids.get(`${reference.kind} ${reference.name}`) ?? reference.name);
      }) as T;
    const { name, description, metadata, runRetentionDays, isActive, triggers = [], edges } = document;
    const workflow = (await client.POST("/workflows", { body: { name, description, metadata, runRetentionDays, subTenantId } }))
      .data as Schemas["Workflow"];
    const path = { params: { path: { id: workflow.id } } };
    try {
      if (isActive === false) await client.PATCH("/workflows/{id}", { ...path, body: { isActive } });
      const version = await client.POST("/workflow-versions", {
        body: { workflowId: workflow.id, nodes: identified(nodesOf(document)) as Schemas["NodeDraft"][], edges: edges as Schemas["EdgeDraft"][] },
      });
      for (const { hook, ...trigger } of triggers) {
        const body = { config: {}, ...identified(trigger), workflowVersionId: version.data?.id ?? "" } as Schemas["CreateTrigger"];
        const { data: made } = await client.POST("/triggers", { body });
        if (made && hook && !namesMissing(hook, ids))
          await client.POST("/triggers/{id}/hook", { params: { path: { id: made.id } }, body: wholeHook(identified(hook)) });
      }
    } catch (failure) {
      await client.DELETE("/workflows/{id}", path); // nothing is left of what did not work
      throw failure;
    }
    await reload();
    return { workflow, missing: [...new Set(references.filter(({ kind, name }) => !ids.get(`${kind} ${name}`)).map(({ name }) => name))] };
  };

  return {
    reload,
    create,
    idOf,
    exportFile: async (workflow: Schemas["Workflow"]) => download(workflow.name, await documentFor(workflow)),
    /** A copy has no triggers, or what fires one would fire both. */
    duplicate: async (workflow: Schemas["Workflow"], name: string) =>
      (await create({ ...(await documentFor(workflow)), name, triggers: [], isActive: undefined }, {}, workflow.subTenantId)).workflow,
  };
}

const absent = (failure: unknown) => {
  if (failure instanceof ApiError && (failure.status === 404 || failure.status === 403)) return undefined;
  throw failure;
};

function namesMissing(value: unknown, ids: Map<string, string | undefined>): boolean {
  let isMissing = false;
  replaced(value, (one) => {
    const reference = referenceOf(one);
    if (reference && !ids.get(`${reference.kind} ${reference.name}`)) isMissing = true;
    return reference;
  });
  return isMissing;
}

const wholeHook = (hook: Members) =>
  ({ ...hook, ...(hook.limits ? { limits: { perMinute: 600, concurrent: 20, ...hook.limits } } : {}) }) as Schemas["CreateHook"];
