// Somebody draws a workflow from nothing by mouse, is told what is missing, publishes it, and sees it run. Then they edit it again while somebody
// else does, while the gateway cannot be reached, and after their session has ended.
export default async ({ page, assert, examine, open, call, tolerate, home }) => {
  const workflow = await (await call("POST", "/workflows", { name: "Large orders" })).json();
  const versions = async () => (await (await call("GET", `/workflow-versions?workflowId=${workflow.id}&sortOrder=asc`)).json()).items;
  const graph = page.getByRole("region", { name: "Graph" });
  const side = page.getByRole("complementary");
  const entry = (name) => side.getByRole("listitem").filter({ hasText: name }).first().getByRole("button");
  const card = (name) => graph.locator(".react-flow__node").filter({ hasText: name });
  const saved = () => page.getByRole("status").getByText("Saved", { exact: true }).waitFor();

  await open(`workflows/${workflow.id}`);
  await page.getByRole("button", { name: "Draw the workflow" }).click();
  await graph.getByText("What shall happen first?").waitFor();
  await examine("editor-empty");

  // The first node is dragged onto the canvas, the second put behind it, and the third dropped and connected by hand.
  await entry("Condition").dragTo(graph, { targetPosition: { x: 120, y: 160 } });
  await card("Condition").waitFor();
  await side.getByLabel("Name", { exact: true }).fill("Is it large?");
  await side.getByLabel("Condition", { exact: true }).fill("payload.amount >= 1000");
  await graph.getByRole("button", { name: "Add a node after condition: Yes" }).click();
  await side.getByRole("searchbox").fill("transf");
  await page.keyboard.press("Enter");
  await side.getByLabel("Name", { exact: true }).fill("Say thanks");
  await saved();
  await page.getByRole("button", { name: /^Problems/ }).waitFor(); // the server misses the expression
  await side.getByLabel(/^Expression/).and(page.locator("[aria-invalid]")).waitFor();
  await examine("editor-problem");
  await side.getByLabel(/^Expression/).fill('{ text: "Thank you for " + payload.amount }');
  await graph.locator(".react-flow__pane").click({ position: { x: 20, y: 400 } });
  await entry("Wait").dragTo(graph, { targetPosition: { x: 430, y: 420 } });
  await side.getByLabel("Delay (ms)").fill("5");
  const from = await card("Is it large?").locator(".react-flow__handle[data-handleid='out:false']").boundingBox();
  const to = await card("Wait").locator(".react-flow__handle-left").boundingBox();
  await page.mouse.move(from.x + 5, from.y + 5);
  await page.mouse.down();
  await page.mouse.move(to.x - 60, to.y - 20, { steps: 6 });
  await page.mouse.move(to.x + 5, to.y + 5, { steps: 6 });
  await page.mouse.up();
  await graph.locator(".react-flow__edge").nth(1).waitFor();
  await saved();

  // What was done is taken back and done again, by keys as by buttons; nodes are moved, and tidied up.
  await page.keyboard.press("Control+z");
  await page.waitForFunction(() => document.querySelectorAll(".react-flow__edge").length === 1);
  await page.getByRole("button", { name: "Redo" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".react-flow__edge").length === 2);
  await page.getByRole("button", { name: "Tidy up" }).click();
  await saved();
  await page.waitForTimeout(400); // until the view has moved there
  await examine("editor-drawn");

  // An edge stays selected while letters change what it is known by, and the field keeps the focus.
  await graph.locator(".react-flow__edge").first().focus();
  await page.keyboard.press("Enter");
  const arrives = side.getByLabel(/^Arrives as/);
  await arrives.pressSequentially("total");
  assert.equal(await arrives.inputValue(), "total");
  await arrives.fill("");
  await saved();

  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByRole("alertdialog").getByText("It is the first one").waitFor();
  await examine("editor-publish");
  await page.getByRole("alertdialog").getByRole("button", { name: "Publish" }).click();
  await page.getByRole("status").getByText("Read only").waitFor();
  const [published] = await versions();
  assert.equal(published.isActive, true);
  assert.deepEqual(
    published.nodes.map(({ name, config }) => [name, config]),
    [
      ["Is it large?", { condition: "payload.amount >= 1000" }],
      ["Say thanks", { expression: '{ text: "Thank you for " + payload.amount }' }],
      ["Wait", { delayMs: 5 }],
    ],
  );
  assert.deepEqual(published.edges.map(({ sourceNodeId, sourceOutputKey, targetNodeId }) => [sourceNodeId, sourceOutputKey, targetNodeId]).sort(), [
    ["condition", "false", "wait"],
    ["condition", "true", "transform"],
  ]);

  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByLabel("Event").fill('{ "amount": 1500 }');
  await page.getByRole("button", { name: "Start the run" }).click();
  await page.waitForURL(/\/runs\/run_/);
  await page.getByRole("region", { name: "Timeline" }).getByText("run.completed").waitFor();
  await page.getByRole("region", { name: "Graph" }).getByText("Say thanks").waitFor();

  // A published version does not change: editing begins a draft. What somebody else does to it meanwhile is kept.
  await open(`workflows/${workflow.id}/editor`);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await saved();
  const draft = async () => (await versions()).at(-1);
  const { id, nodes, edges } = await draft();
  assert.equal((await draft()).version, 2);
  assert.equal((await call("PATCH", `/workflow-versions/${id}`, { nodes: nodes.map((node) => (node.id === "wait" ? { ...node, name: "A moment" } : node)), edges })).status, 200);
  tolerate(/412/);
  await card("Say thanks").click();
  await side.getByLabel("Note").fill("Shown to the customer");
  await card("A moment").waitFor();
  await saved();
  const both = (await draft()).nodes;
  assert.deepEqual([both.find((node) => node.id === "wait").name, both.find((node) => node.id === "transform").description], ["A moment", "Shown to the customer"]);

  // Both change the same: a person decides.
  await call("PATCH", `/workflow-versions/${id}`, { nodes: both.map((node) => (node.id === "transform" ? { ...node, description: "Theirs" } : node)), edges });
  await side.getByLabel("Note").fill("Mine");
  const dialog = page.getByRole("dialog", { name: "Somebody else changed the same" });
  await dialog.waitFor();
  await examine("editor-conflict");
  await dialog.getByRole("radio", { name: "Theirs" }).check();
  await dialog.getByRole("button", { name: "Keep what is chosen" }).click();
  await saved();
  assert.equal(await side.getByLabel("Note").inputValue(), "Theirs");

  // The gateway cannot be reached: it is saved as soon as it can.
  tolerate(/ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to load/);
  await page.context().setOffline(true);
  await side.getByLabel("Note").fill("Written on the train");
  await page.getByRole("status").getByText("Offline").waitFor();
  await examine("editor-offline");
  await page.getByRole("button", { name: "Show a list" }).click(); // it was loaded while there was a connection
  await page.getByRole("region", { name: "Nodes in their order" }).waitFor();
  await page.getByRole("button", { name: "Show the graph" }).click();
  await card("Say thanks").click();
  assert.equal(await side.getByLabel("Note").inputValue(), "Written on the train");
  await page.context().setOffline(false);
  await saved();
  assert.equal((await draft()).nodes.find((node) => node.id === "transform").description, "Written on the train");
  await page.reload();
  await card("Say thanks").getByText("Written on the train").waitFor();

  // The session ends in the middle of an edit: nothing is lost, and it is saved after signing in elsewhere.
  tolerate(/401/);
  const signedOut = { statusCode: 401, code: "signed_out", message: "Sign in.", error: "Unauthorized", requestId: "req_1", path: "", timestamp: new Date().toISOString() };
  const answer = (route) => (route.request().method() === "PATCH" ? route.fulfill({ status: 401, json: signedOut }) : route.fallback());
  await page.route("**/workflow-versions/*", answer);
  await card("Say thanks").click();
  await side.getByLabel("Note").fill("Written while signed out");
  await page.getByRole("link", { name: "Sign in in a new tab" }).waitFor();
  assert.equal(await side.getByLabel("Note").inputValue(), "Written while signed out");
  await page.unroute("**/workflow-versions/*", answer);
  await page.getByRole("button", { name: "Save now" }).click();
  await saved();
  assert.equal((await draft()).nodes.find((node) => node.id === "transform").description, "Written while signed out");
  await page.goto(home);
};
