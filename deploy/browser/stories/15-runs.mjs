// Somebody watches a run that waits, answers its question, looks at what a node got, and repeats a failed run where it failed.
const node = (id, type, version, config) => ({ id, type, version, name: id, config });

export default async ({ page, assert, call, examine, open }) => {
  const publish = async (name, nodes, edges) => {
    const workflow = await (await call("POST", "/workflows", { name })).json();
    const version = await (await call("POST", "/workflow-versions", { workflowId: workflow.id, nodes, edges })).json();
    assert.equal((await call("POST", `/workflow-versions/${version.id}/publish`)).status, 200);
    return workflow.id;
  };
  const start = async (workflow, body) => (await call("POST", `/workflows/${workflow}/runs`, body)).json();

  const asks = await publish(
    "Ask before it ships",
    [node("worth", "transform", "1.0.0", { transformType: "expression", expression: "{ amount: payload.amount }" }), node("approve", "input", "1.1.0", { prompt: "May it ship?", inputType: "boolean", required: true })],
    [{ sourceNodeId: "worth", targetNodeId: "approve" }],
  );
  await open("runs");
  await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
  const waiting = await start(asks, { entityId: "order-1", eventData: { amount: 9, items: Array.from({ length: 15_000 }, (_, at) => ({ at, text: "x".repeat(30) })) } });
  await page.getByRole("row", { name: "order-1 " }).getByText("Waiting").waitFor(); // the list is live
  await examine("runs");
  await page.getByRole("link", { name: "order-1", exact: true }).click();
  await page.getByText("May it ship?").waitFor();
  await page.getByRole("region", { name: "Graph" }).getByText("worth").waitFor();
  await page.getByRole("region", { name: "Timeline" }).getByText("node.waiting").waitFor();
  await examine("run-waiting");

  // A megabyte of JSON opens at once.
  await page.getByRole("combobox", { name: "Node" }).selectOption("worth");
  const items = page.getByRole("region", { name: "Input" }).getByRole("button", { name: "items" });
  await items.waitFor();
  const before = Date.now();
  await items.click();
  const lines = page.getByRole("region", { name: "Input" }).locator("[data-index]");
  await lines.nth(9).waitFor();
  assert.ok(Date.now() - before < 4_000, `a megabyte of JSON took ${Date.now() - before} ms`);
  const drawn = await lines.count();
  assert.ok(drawn < 200, `${drawn} of 15,000 lines are drawn`);

  await page.getByRole("button", { name: "Yes", exact: true }).click();
  await page.getByRole("region", { name: "Timeline" }).getByText("run.completed").waitFor();
  assert.equal((await (await call("GET", `/runs/${waiting.id}`)).json()).status, "completed");
  await page.getByRole("button", { name: "Run again", exact: true }).click();
  await page.waitForURL((url) => /\/runs\/run_/.test(url.href) && !url.href.endsWith(waiting.id));
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel the run" }).click();
  await page.getByRole("region", { name: "Timeline" }).getByText("run.cancelled").waitFor();

  const fails = await publish("It fails", [node("broken", "transform", "1.0.0", { transformType: "expression", expression: "payload.missing.deeper" })], []);
  const failed = await start(fails, { entityId: "order-2", eventData: {} });
  await open(`runs/${failed.id}`);
  await page.getByText("expression_failed").first().waitFor();
  await examine("run-failed");
  await page.getByRole("button", { name: "Retry where it failed" }).click();
  await page.getByText("run.retried").waitFor();

  // The engine that everybody has is not named. No gateway of the stories has another one, so the answer is made to say so.
  assert.equal((await (await call("GET", `/runs/${failed.id}`)).json()).engine, "table");
  const engine = page.getByRole("term").filter({ hasText: "Engine" });
  assert.equal(await engine.count(), 0);
  const handedOver = async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), engine: "temporal" } });
  };
  await page.route(`**/api/**/runs/${failed.id}`, handedOver);
  await page.reload();
  await engine.waitFor();
  await page.getByRole("definition").filter({ hasText: /^Temporal$/ }).waitFor();
  await page.getByRole("region", { name: "Graph" }).getByText("broken").waitFor();
  await examine("run-engine");
  await page.unroute(`**/api/**/runs/${failed.id}`, handedOver);
};
