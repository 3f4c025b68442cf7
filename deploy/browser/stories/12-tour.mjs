// Pages of a tenant that works: many runs, some of which failed or wait. README's pictures are taken here: make pictures.
import { serve } from "../../examples/embed/server.mjs";

export default async ({ page, assert, call, open, otherPage, picture, key, url }) => {
  const node = (id, name, x, y, type, config, version = "1.0.0") => ({ id, name, type, version, config, position: { x, y } });
  const transform = (expression) => ({ transformType: "expression", expression });
  const made = async (path, body) => {
    const answer = await call("POST", path, body);
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return answer.json();
  };
  const workflow = await made("/workflows", { name: "Fulfil an order", description: "Large orders are approved by a person. The customer is told when it ships." });
  const version = await made("/workflow-versions", {
    workflowId: workflow.id,
    nodes: [
      node("worth", "What is it worth?", 0, 0, "transform", transform("{ amount: payload.price * payload.count }")),
      node("large", "Is it large?", 280, 0, "condition", { condition: "input.amount >= 1000" }),
      node("approve", "Ask a person", 560, -90, "input", { title: "Order {{ payload.id }}", prompt: "Approve this order?", inputType: "boolean", required: true, timeoutMs: 86_400_000 }, "1.1.0"),
      node("reserve", "Reserve the goods", 560, 90, "transform", transform("{ reserved: payload.count }")),
      node("tell", "Tell the customer", 840, 90, "transform", transform("{ to: payload.customer.email }")),
    ],
    edges: [
      { sourceNodeId: "worth", targetNodeId: "large" },
      { sourceNodeId: "large", targetNodeId: "approve", sourceOutputKey: "true" },
      { sourceNodeId: "large", targetNodeId: "reserve", sourceOutputKey: "false" },
      { sourceNodeId: "reserve", targetNodeId: "tell" },
    ],
  });
  await made(`/workflow-versions/${version.id}/publish`);
  const orders = Array.from({ length: 24 }, (_, at) => ({
    id: `order-${1024 + at}`,
    price: [120, 35, 80, 249][at % 4],
    count: at === 20 ? 9 : 1 + (at % 3),
    ...(at === 7 || at === 16 ? {} : { customer: { email: `customer-${at}@example.com` } }),
  }));
  const runs = [];
  for (const order of orders) runs.push(await made(`/workflows/${workflow.id}/runs`, { entityId: order.id, eventData: order }));

  await open("");
  await page.getByRole("table", { name: "Last failures" }).getByText("order-1040").waitFor();
  await page.getByText("of 24").waitFor();
  await picture("overview");
  await open("runs");
  await page.getByRole("table", { name: "Runs" }).getByRole("row").nth(20).waitFor();
  await page.getByRole("combobox", { name: "State" }).selectOption("failed");
  await page.getByRole("link", { name: "order-1040" }).click();
  await page.getByRole("region", { name: "Graph" }).getByText("Tell the customer").waitFor();
  await page.getByRole("region", { name: "Timeline" }).getByText("run.failed").waitFor();
  await picture("run");
  await open(`runs/${runs[20].id}`);
  await page.getByRole("button", { name: "Yes", exact: true }).waitFor();
  await page.getByRole("region", { name: "Graph" }).getByText("Waiting").waitFor();
  await picture("question", "dark");

  // The editor, here and in a page of another product.
  await open(`workflows/${workflow.id}/editor`);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByRole("status").getByText("Saved", { exact: true }).waitFor();
  const graph = page.getByRole("region", { name: "Graph" });
  await graph.locator(".react-flow__node").filter({ hasText: "Is it large?" }).click();
  await page.getByRole("complementary").locator(".cm-editor").waitFor();
  await page.getByRole("complementary").getByText("Last time it gave").waitFor();
  await page.getByLabel("Notices").getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Show everything" }).click();
  await page.waitForTimeout(500); // the view moves there
  await picture("editor");
  const product = await serve({ gateway: url.replace("localhost", "127.0.0.1"), secretKey: key });
  try {
    await call("PATCH", "/settings", { embed: { origins: [product.url] } });
    const theirs = await otherPage();
    await theirs.goto(product.url); // makes the workflow of the customer
    const workflowId = await theirs.locator("sluice-editor").getAttribute("workflow-id");
    const { nodes, edges } = await (await call("GET", `/workflow-versions/${version.id}`)).json();
    await made("/workflow-versions", { workflowId, nodes, edges: edges.map(({ id, ...edge }) => edge) });
    await theirs.reload();
    const frame = theirs.frameLocator("sluice-editor iframe");
    await frame.locator(".react-flow__node").filter({ hasText: "Ask a person" }).click();
    await frame.getByRole("region", { name: "Preview" }).waitFor();
    await theirs.locator("sluice-editor").evaluate((editor) => editor.setTheme({ colors: { accent: "#9333ea" } }));
    await picture("embedded", "light", theirs);
    await theirs.close();
  } finally {
    product.close();
  }
};
