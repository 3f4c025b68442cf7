import { ApiError, type Schemas, type useTenant } from "@/api";
import { draftOf, type Graph, graphOf, type Refusal, type Server, type Stored } from "./model";

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
const isShort = (body: object) => JSON.stringify(body).length < longestFarewell;

/** A key that nobody else has; `randomUUID` is missing where the console is served without TLS. */
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Reads and writes versions of a workflow, each write only over the state that was read. */
export function serverOf(client: Client, workflowId: string): Server {
  const path = (id: string) => ({ params: { path: { id } } });
  let creation: { key: string; graph: Graph } | undefined; // of a draft, and not answered yet
  /** Makes one draft, however often its answer is lost: under one key, the gateway takes nothing but the same again. */
  const create = async (graph: Graph, isLeaving: boolean): Promise<Stored> => {
    creation ??= { key: newKey(), graph };
    const { key, graph: first } = creation;
    try {
      const body = { workflowId, ...draftOf(first) };
      const params = { header: { "X-Idempotency-Key": key } };
      const answer = await client.POST("/workflow-versions", { params, body, keepalive: isLeaving && isShort(body) });
      creation = undefined;
      return { ...storedOf(answer), graph: first };
    } catch (failure) {
      if (refusalOf(failure) !== "unreachable") creation = undefined;
      throw failure;
    }
  };
  return {
    read: async (id) => storedOf(await client.GET("/workflow-versions/{id}", { ...path(id), cache: "no-store" })),
    write: async (graph, { versionId, etag }, isLeaving) => {
      if (!versionId) return create(graph, isLeaving);
      const body = draftOf(graph);
      const params = { path: { id: versionId }, header: { "If-Match": etag } };
      const answer = await client.PATCH("/workflow-versions/{id}", { params, body, keepalive: isLeaving && isShort(body) });
      return { ...storedOf(answer), graph };
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
