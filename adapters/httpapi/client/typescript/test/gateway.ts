// Uses the package as a customer's program would, against a gateway that runs: from an
// empty tenant to a run that is followed to its end, and the webhook that reports it. The
// gateway's address and a secret key come from the environment.
import assert from "node:assert/strict";
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, type ApiError } from "@sluicehq/client";

const baseUrl = process.env.SLUICE_BASE_URL ?? "";
const apiKey = process.env.SLUICE_KEY ?? "";
const api = createClient({ baseUrl, apiKey });
const timeout = AbortSignal.timeout(60_000);

// verify checks a webhook as Standard Webhooks says (https://www.standardwebhooks.com):
// one of the signatures is the HMAC of id, time and body.
function verify(secret: string, headers: IncomingHttpHeaders, body: string): boolean {
  const id = String(headers["webhook-id"]);
  const timestamp = String(headers["webhook-timestamp"]);
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const mac = createHmac("sha256", Buffer.from(secret.replace(/^whsec_/, ""), "base64"));
  const expected = mac.update(`${id}.${timestamp}.${body}`).digest();
  return String(headers["webhook-signature"]).split(" ").some((signature) => {
    const [version, text = ""] = signature.split(",");
    const given = Buffer.from(text, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

// ServerSentEvent is an event of a stream (HTML Standard, "Server-sent events").
type ServerSentEvent = { id: string; event: string; data: string };

// events reads a stream.
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const fields: Record<string, string> = {};
      for (const line of text.slice(0, end).split("\n")) {
        const [, name, value] = /^(\w+): (.*)$/.exec(line) ?? []; // a comment has no name
        if (name !== undefined && value !== undefined) fields[name] = value;
      }
      text = text.slice(end + 2);
      if (fields.event !== undefined) yield { id: fields.id ?? "", event: fields.event, data: fields.data ?? "" };
    }
  }
}

// The receiver of webhooks.
type Message = { headers: IncomingHttpHeaders; body: string };
const receiver = createServer();
const arrived = new Promise<Message>((resolve) => {
  receiver.on("request", (request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (part: string) => (body += part));
    request.on("end", () => {
      response.writeHead(204).end();
      resolve({ headers: request.headers, body });
    });
  });
});
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const { port } = receiver.address() as AddressInfo;

const endpoint = await api.POST("/v1/gateway/webhook-endpoints", {
  body: { url: `http://127.0.0.1:${port}/hooks`, events: ["run.completed"] },
});
const secret = endpoint.data?.secret; // which is shown this once
assert.ok(secret, JSON.stringify(endpoint.error));

const workflow = await api.POST("/v1/gateway/workflows", { body: { name: "Orders from TypeScript" } });
assert.ok(workflow.data, JSON.stringify(workflow.error));

const version = await api.POST("/v1/gateway/workflow-versions", {
  body: {
    workflowId: workflow.data.id,
    nodes: [
      { id: "notice", type: "transform", version: "1.0.0", config: { transformType: "expression", expression: "payload.id" } },
      { id: "rest", type: "wait", version: "1.0.0", config: { delayMs: 200 } },
    ],
    edges: [{ id: "then", sourceNodeId: "notice", targetNodeId: "rest" }],
  },
});
assert.ok(version.data, JSON.stringify(version.error));

const published = await api.POST("/v1/gateway/workflow-versions/{id}/publish", { params: { path: { id: version.data.id } } });
assert.equal(published.data?.version.isActive, true, JSON.stringify(published.error));

const list = await api.GET("/v1/gateway/workflows", { params: { query: { search: "typescript", limit: 5 } } });
assert.equal(list.data?.total, 1, JSON.stringify(list.error));

const refused = await api.POST("/v1/gateway/workflows", { body: { name: "" } });
const error: ApiError | undefined = refused.error;
assert.equal(error?.code, "workflow_invalid");
assert.equal(error?.details?.[0]?.field, "name");

const trigger = await api.POST("/v1/gateway/triggers", {
  body: { workflowVersionId: version.data.id, name: "Order paid", type: "webhook", config: {} },
});
assert.ok(trigger.data, JSON.stringify(trigger.error));

const fired = await api.POST("/v1/gateway/triggers/{id}/webhook", {
  params: { path: { id: trigger.data.id } },
  body: { eventData: { id: 1042 } },
});
assert.ok(fired.data?.runId, JSON.stringify(fired.error));
const runId = fired.data.runId;

// Follow the run to its end. A client that is cut off sends the id of the last event when
// it comes back; this one does so once on purpose, after the first.
const received: ServerSentEvent[] = [];
for (let lastEventId: number | undefined; received.at(-1)?.event !== "end"; lastEventId = Number(received.at(-1)?.id)) {
  const stream = await api.GET("/v1/gateway/runs/{id}/stream", {
    params: { path: { id: runId }, header: { "Last-Event-ID": lastEventId } },
    parseAs: "stream",
    signal: timeout,
  });
  assert.ok(stream.data, JSON.stringify(stream.error));
  for await (const event of events(stream.data)) {
    received.push(event);
    if (lastEventId === undefined) break;
  }
}
const entries = received.slice(0, -1);
assert.deepEqual(entries.map((event) => Number(event.id)), entries.map((_, i) => i + 1));
assert.equal(entries[0]?.event, "run.started");
assert.equal(entries.at(-1)?.event, "run.completed");
assert.deepEqual(JSON.parse(received.at(-1)?.data ?? ""), { status: "completed" });

const run = await api.GET("/v1/gateway/runs/{id}", { params: { path: { id: runId } } });
assert.equal(run.data?.status, "completed", JSON.stringify(run.error));
assert.equal((run.data.context.data as Record<string, unknown>).notice, 1042);

// The signature of the webhook is right, and would not be with another byte or secret.
const message = await Promise.race([
  arrived,
  new Promise<never>((_, reject) => timeout.addEventListener("abort", () => reject(new Error("no webhook arrived")))),
]);
assert.ok(verify(secret, message.headers, message.body), "the signature is not that of the endpoint's secret");
assert.ok(!verify(secret, message.headers, message.body + " "), "a changed body is accepted");
assert.ok(!verify("whsec_" + Buffer.alloc(32).toString("base64"), message.headers, message.body), "any secret is accepted");
const happened = JSON.parse(message.body) as { type: string; data: { runId: string } };
assert.equal(happened.type, "run.completed");
assert.equal(happened.data.runId, runId);
receiver.close();
receiver.closeAllConnections();

console.log("the TypeScript client works");
