import { ApiError, type Schemas, type useTenant } from "@/api";
import { draftOf, graphOf, type Refusal, type Server, type Stored } from "./model";

type Client = ReturnType<typeof useTenant>["client"];
type Answer = { data?: Schemas["WorkflowVersion"]; response: Response };

export function storedOf({ data, response }: Answer): Stored {
  const version = data as Schemas["WorkflowVersion"];
  const { id, publishedAt } = version;
  return {
    versionId: id,
    etag: response.headers.get("ETag") ?? "",
    graph: graphOf(version),
    number: version.version,
    isPublished: Boolean(publishedAt),
  };
}

/** What a page that is closed may still send; the browser takes no more. */
const longestFarewell = 60_000;

/** Reads and writes versions of a workflow, each write only over the state that was read. */
export function serverOf(client: Client, workflowId: string): Server {
  const path = (id: string) => ({ params: { path: { id } } });
  return {
    read: async (id) => storedOf(await client.GET("/workflow-versions/{id}", { ...path(id), cache: "no-store" })),
    write: async (graph, { versionId, etag }, isLeaving) => {
      const body = draftOf(graph);
      const keepalive = isLeaving && JSON.stringify(body).length < longestFarewell;
      if (!versionId) return storedOf(await client.POST("/workflow-versions", { body: { workflowId, ...body }, keepalive }));
      const params = { path: { id: versionId }, header: { "If-Match": etag } };
      return storedOf(await client.PATCH("/workflow-versions/{id}", { params, body, keepalive }));
    },
    refusalOf,
  };
}

/** Says what an error means for the draft. */
export function refusalOf(failure: unknown): Refusal {
  if (!(failure instanceof ApiError)) return "unreachable";
  const { status, code } = failure;
  if (status === 412) return "stale";
  if (status === 401) return "signedOut";
  if (status === 404 || code === "version_published") return "ended";
  return [400, 403, 413].includes(status) ? "refused" : "unreachable";
}
