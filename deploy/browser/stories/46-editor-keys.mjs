// Somebody draws a workflow by keys alone, as a list: a loop over items that calls another workflow, and what follows it. Then nodes are copied from there into another one.
/** What this is about happens in the browser, whatever the database. */
export const ofTheBrowser = true;

export default async ({ page, assert, examine, open, call }) => {
  const create = async (name) => (await call("POST", "/workflows", { name })).json();
  const called = await create("Notify a customer");
  const version = await (
    await call("POST", "/workflow-versions", { workflowId: called.id, nodes: [{ id: "done", type: "return", version: "1.0.0", name: "Done", config: { value: "told" } }], edges: [] })
  ).json();
  assert.equal((await call("POST", `/workflow-versions/${version.id}/publish`)).status, 200);
  const workflow = await create("Notify all customers");
  const versions = async () => (await (await call("GET", `/workflow-versions?workflowId=${workflow.id}`)).json()).items;
  const side = page.getByRole("complementary");
  const list = page.getByRole("region", { name: "Nodes in their order" });
  const saved = () => page.getByRole("status").getByText("Saved", { exact: true }).waitFor();
  const press = (key) => page.keyboard.press(key);
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("name"));
  /** Moves the focus by the Tab key until it is there. */
  const tabTo = async (there) => {
    for (let tries = 0; tries < 60; tries++) {
      if (await there.evaluate((element) => element === document.activeElement)) return;
      await press("Tab");
    }
    assert.fail(`the Tab key does not come to ${there}`);
  };
  /** Looks for a type in the palette, which is open and has the focus. */
  const choose = async (text) => {
    await side.getByRole("searchbox").and(page.locator(":focus")).waitFor();
    await page.keyboard.type(text);
    await press("Enter");
    await page.locator("input[name=name]:focus").waitFor();
  };
  const act = async (name, action) => {
    const button = list.getByRole("button", { name: `Actions for ${name}` });
    await tabTo(button);
    await press("Enter");
    await page.getByRole("menu").waitFor();
    const item = page.getByRole("menuitem", { name: action, exact: true });
    for (let tries = 0; tries < 9 && !(await item.evaluate((element) => element === document.activeElement)); tries++) await press("ArrowDown");
    await press("Enter");
  };

  await open(`workflows/${workflow.id}/editor`);
  await page.getByText("What shall happen first?").waitFor();
  await press("l");
  await list.getByText("There is no node yet").waitFor();
  await press("a");
  await choose("for each");
  await page.keyboard.type("Each customer");
  assert.equal(await focused(), "name");
  await tabTo(side.getByLabel("Items", { exact: true }));
  await page.keyboard.type("payload.customers");
  await page.locator("main").focus();
  await act("Each customer", "Add what runs for each item");
  await choose("call");
  await page.keyboard.type("Tell the customer");
  await tabTo(side.getByRole("combobox", { name: "Workflow" }));
  await page.keyboard.type("Notify a c");
  await page.getByRole("option", { name: "Notify a customer" }).waitFor();
  await press("Enter");
  await page.locator("main").focus();
  await act("Each customer", "Add a node after it");
  await choose("transform");
  await page.keyboard.type("Count");
  await tabTo(side.getByLabel(/^Expression/));
  await page.keyboard.type("{ told: input.count }");
  await page.locator("main").focus();
  await act("Count", "Add a node after it");
  await choose("return");
  await saved();
  await examine("editor-list");

  // An edge more: a node is connected to another one that is there already.
  await page.locator("main").focus();
  await act("Each customer", "Connect to…");
  const dialog = page.getByRole("dialog", { name: "Connect Each customer" });
  await dialog.getByLabel("It leads to").selectOption("Return");
  await dialog.getByRole("button", { name: "Connect", exact: true }).press("Enter");
  await list.getByRole("button", { name: /leads to\s*Return/ }).nth(1).waitFor();
  await press("Control+z");
  await page.waitForFunction(() => document.querySelectorAll("ol [aria-label='leads to']").length === 2);
  await saved();

  await page.locator("main").focus();
  await tabTo(page.getByRole("button", { name: "Publish", exact: true }));
  await press("Enter");
  await tabTo(page.getByRole("alertdialog").getByRole("button", { name: "Publish" }));
  await press("Enter");
  await page.getByRole("status").getByText("Read only").waitFor();
  const [published] = await versions();
  assert.deepEqual(
    published.nodes.map(({ name, parentId, config }) => [name, parentId, config]),
    [
      ["Each customer", undefined, { items: "payload.customers" }],
      ["Tell the customer", "forEach", { workflowId: called.id }],
      ["Count", undefined, { expression: "{ told: input.count }" }],
      ["Return", undefined, {}],
    ],
  );
  assert.deepEqual(published.edges.map(({ sourceNodeId, targetNodeId }) => [sourceNodeId, targetNodeId]), [["forEach", "transform"], ["transform", "return"]]);
  const run = await (await call("POST", `/workflows/${workflow.id}/runs`, { eventData: { customers: ["Ann", "Ben"] } })).json();

  // The graph has the loop as a container; a click leads into the workflow that is called.
  await press("l");
  const graph = page.getByRole("region", { name: "Graph" });
  await graph.getByText("Tell the customer").waitFor();
  await page.waitForTimeout(300); // until the view has moved there
  await examine("editor-container");

  // Nodes are copied from a version that is read-only into another workflow, under names of their own.
  await graph.locator(".react-flow__node").filter({ hasText: "Count" }).click();
  await press("Control+c");
  await graph.getByRole("link", { name: "Open the workflow that Tell the customer calls" }).click();
  await page.getByRole("heading", { name: /^Notify a customer/ }).waitFor();
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await saved();
  await graph.locator(".react-flow__pane").click({ position: { x: 30, y: 30 } });
  await press("Control+v");
  await graph.getByText("Count").waitFor();
  await saved();
  const [copied] = (await (await call("GET", `/workflow-versions?workflowId=${called.id}`)).json()).items;
  assert.deepEqual(copied.nodes.map(({ id }) => id), ["done", "transform"]);
  assert.equal((await (await call("GET", `/runs/${run.id}`)).json()).status, "completed");
};
