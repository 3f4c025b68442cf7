// Somebody writes an expression, which the server completes from the last run and computes, tries the node by itself, and keeps what it gave as sample data.
const node = (id, type, version, config) => ({ id, type, version, name: id, config });

/** What this is about happens in the browser, whatever the database. */
export const ofTheBrowser = true;

export default async ({ page, assert, examine, open, call }) => {
  const custom = { type: "acme.score", name: "Score", version: "1.0.0", endpoint: "https://score.example.com/", configSchema: { scale: { type: "string" }, rule: { type: "string", widget: "expression" }, tags: { type: "object", widget: "keyValue" } } };
  assert.equal((await call("POST", "/custom-nodes", custom)).status, 201);
  const workflow = await (await call("POST", "/workflows", { name: "Greet" })).json();
  const draft = { workflowId: workflow.id, nodes: [node("greet", "transform", "1.0.0", { expression: "payload" })], edges: [] };
  const version = await (await call("POST", "/workflow-versions", draft)).json();
  assert.equal((await call("POST", `/workflow-versions/${version.id}/publish`)).status, 200);
  const run = await (await call("POST", `/workflows/${workflow.id}/runs`, { eventData: { customer: { name: "Ann" }, amount: 12 } })).json();
  for (let tries = 0; tries < 100 && (await (await call("GET", `/runs/${run.id}`)).json()).status !== "completed"; tries++) await new Promise((done) => setTimeout(done, 50));

  await open(`workflows/${workflow.id}/editor`);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  const saved = () => page.getByRole("status").getByText("Saved", { exact: true }).waitFor();
  await saved();
  const side = page.getByRole("complementary");
  await page.getByRole("region", { name: "Graph" }).locator(".react-flow__node").filter({ hasText: "greet" }).click();
  const expression = side.getByRole("textbox", { name: "Expression" });
  await side.locator(".cm-editor").first().waitFor();
  const write = async (text) => {
    await expression.click();
    await page.keyboard.press("Control+a");
    await expression.pressSequentially(text, { delay: 20 });
  };
  await write("payload.cu");
  await page.getByRole("option", { name: /customer/ }).waitFor();
  await examine("editor-completion");
  await page.keyboard.press("Escape"); // the pictures may have closed the list
  await write("payload.cu");
  await page.getByRole("option", { name: /customer/ }).click();
  await page.keyboard.type(".name + '!'");
  await side.getByText('"Ann!"').waitFor();
  await page.keyboard.press("Escape"); // no list lies over what follows
  await saved();
  const [{ nodes }] = (await (await call("GET", `/workflow-versions?workflowId=${workflow.id}`)).json()).items;
  assert.equal(nodes[0].config.expression, "payload.customer.name + '!'");

  // An expression that cannot be is told so beside the field, by the server.
  await write("payload.customer.name +");
  await side.locator("[aria-invalid=true]").waitFor();
  await examine("editor-expression-problem");
  await page.keyboard.press("Control+z");
  await write("input.name + '?'");
  await page.keyboard.press("Escape");
  await saved();

  await side.getByText("Try it", { exact: true }).click();
  await side.getByRole("textbox", { name: /^Input/ }).fill('{ "name": "Ben" }');
  await side.getByRole("button", { name: "Try this node" }).click();
  await side.getByRole("status").getByText("Completed").waitFor();
  await side.getByRole("button", { name: "Keep as sample data" }).click();
  await saved();
  await side.getByRole("textbox", { name: /^Sample data/ }).waitFor();
  await examine("editor-tried");
  const [kept] = (await (await call("GET", `/workflow-versions?workflowId=${workflow.id}`)).json()).items;
  assert.deepEqual(kept.pins, { greet: "Ben?" });

  // The draft is compared with the version that is active, published, and the old one made active again.
  await page.getByRole("button", { name: "Compare versions" }).click();
  const dialog = page.getByRole("dialog", { name: "Compare versions" });
  await dialog.getByText("+ input.name + '?'").waitFor();
  await dialog.getByText("− payload", { exact: true }).waitFor();
  await examine("editor-compare");
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Publish" }).click();
  await page.getByRole("status").getByText("Read only").waitFor();
  await open(`workflows/${workflow.id}/editor?version=${version.id}`);
  await page.getByRole("button", { name: "Make it active again" }).click();
  await page.getByRole("alertdialog").getByText("It takes the place of version 2").waitFor();
  await page.getByRole("alertdialog").getByRole("button", { name: "Publish" }).click();
  await page.getByRole("button", { name: "Make it active again" }).waitFor({ state: "detached" });
  assert.equal((await (await call("GET", `/workflow-versions/${version.id}`)).json()).isActive, true);

  // A custom node gets its texts as they are: the field says so, and asks the server nothing about expressions.
  const scoring = await (await call("POST", "/workflows", { name: "Score" })).json();
  assert.equal((await call("POST", "/workflow-versions", { workflowId: scoring.id, nodes: [node("score", "acme.score", "1.0.0", {})], edges: [] })).status, 201);
  const asked = [];
  page.on("request", (request) => request.url().endsWith("/complete") && asked.push(request.postData()));
  await open(`workflows/${scoring.id}/editor`);
  await page.getByRole("region", { name: "Graph" }).locator(".react-flow__node").click();
  const literal = side.getByText("Expressions are not filled in here");
  await side.getByRole("textbox", { name: /^rule/i }).pressSequentially("payload.", { delay: 20 });
  await literal.waitFor();
  await side.getByLabel(/^scale/i).pressSequentially("{{ payload.amount", { delay: 20 });
  await literal.nth(1).waitFor();
  await side.getByRole("button", { name: /^Add to / }).click();
  await side.getByLabel("Name 1").fill("kind");
  await side.getByRole("textbox", { name: "Value of kind" }).pressSequentially("{{ payload.kind", { delay: 20 });
  await literal.nth(2).waitFor();
  await saved();
  await page.waitForTimeout(600); // longer than the editor waits until it asks
  assert.deepEqual(asked, []);
};
