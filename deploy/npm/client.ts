// Uses the generated types as a customer's program would: from an empty tenant to a
// published version, against a gateway that runs. The gateway's address and a secret
// key come from the environment.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "../../adapters/httpapi/client/typescript/sluice.js";

const baseUrl = process.env.SLUICE_BASE_URL ?? "";
const key = process.env.SLUICE_KEY ?? "";
const api = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });

const workflow = await api.POST("/v1/gateway/workflows", { body: { name: "Orders from TypeScript" } });
assert.ok(workflow.data, JSON.stringify(workflow.error));

const version = await api.POST("/v1/gateway/workflow-versions", {
  body: {
    workflowId: workflow.data.id,
    nodes: [{ id: "notice", type: "transform", version: "1.0.0", config: { transformType: "expression", expression: "payload.id" } }],
  },
});
assert.ok(version.data, JSON.stringify(version.error));

const published = await api.POST("/v1/gateway/workflow-versions/{id}/publish", { params: { path: { id: version.data.id } } });
assert.equal(published.data?.version.isActive, true, JSON.stringify(published.error));

const list = await api.GET("/v1/gateway/workflows", { params: { query: { search: "typescript", limit: 5 } } });
assert.equal(list.data?.total, 1, JSON.stringify(list.error));

const refused = await api.POST("/v1/gateway/workflows", { body: { name: "" } });
const error: components["schemas"]["Error"] | undefined = refused.error;
assert.equal(error?.code, "workflow_invalid");
assert.equal(error?.details?.[0]?.field, "name");

console.log("the TypeScript client works");
