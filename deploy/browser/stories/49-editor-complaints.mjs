// What people complain of in other editors, as adapters/console/README.md lists it: work that is lost on the way to another page, tabs that
// overwrite one another, moves by keys that are neither saved nor undone, versions that are read-only and can be edited all the same, expressions
// that hang the tab, and drafts that are not saved without anybody being told.
const node = (id, x, more) => ({ id, type: "transform", version: "1.0.0", name: id, config: { expression: "payload" }, position: { x: x * 280, y: 0 }, ...more });

/** What this is about happens in the browser, whatever the database. */
export const ofTheBrowser = true;

export default async ({ page, assert, examine, open, call, tolerate }) => {
  const workflow = await (await call("POST", "/workflows", { name: "Complaints" })).json();
  const nodes = [node("first", 0), node("second", 1)];
  const { id } = await (await call("POST", "/workflow-versions", { workflowId: workflow.id, nodes, edges: [{ sourceNodeId: "first", targetNodeId: "second" }] })).json();
  const stored = async (of) => (await (await call("GET", `/workflow-versions/${id}`)).json()).nodes.find((one) => one.id === of);
  const parts = (of) => {
    const graph = of.getByRole("region", { name: "Graph" });
    return {
      graph,
      side: of.getByRole("complementary"),
      card: (name) => graph.locator(".react-flow__node").filter({ has: of.getByText(name, { exact: true }) }),
      saved: () => of.getByRole("status").getByText("Saved", { exact: true }).waitFor(),
    };
  };
  const { graph, side, card, saved } = parts(page);
  const note = (text, beside = side) => beside.getByLabel("Note").fill(text);
  await open(`workflows/${workflow.id}/editor`);

  // Whoever goes to another page at once and comes back finds all of it (n8n #18595).
  await card("first").click();
  await note("Written just before leaving");
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
  await page.goBack();
  await card("first").getByText("Written just before leaving").waitFor();
  assert.equal((await stored("first")).description, "Written just before leaving");

  // Two tabs with the same draft keep what each has done, and see that of the other (n8n #11638).
  tolerate(/412/);
  const tab = await page.context().newPage();
  await tab.goto(page.url());
  const other = parts(tab);
  await other.card("second").click();
  await other.side.getByLabel("Note").waitFor();
  await card("first").click();
  await Promise.all([note("Of one tab"), note("Of the other", other.side)]);
  await card("second").getByText("Of the other").waitFor();
  await other.card("first").getByText("Of one tab").waitFor();
  await Promise.all([saved(), other.saved()]);
  assert.deepEqual([(await stored("first")).description, (await stored("second")).description], ["Of one tab", "Of the other"]);
  await tab.close();

  // A move by keys is saved and undone as one by the mouse is (Langflow #14673).
  await graph.locator(".react-flow__pane").click({ position: { x: 20, y: 20 } });
  await card("second").focus();
  await page.keyboard.press("Enter");
  await card("second").focus();
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("ArrowRight");
  await saved();
  const before = nodes[1].position;
  const moved = (await stored("second")).position;
  assert.ok(moved.x > before.x && moved.y > before.y, JSON.stringify(moved));
  await page.keyboard.press("Control+z");
  await saved();
  assert.deepEqual((await stored("second")).position, before);

  // An expression that would compute for hours, or that turns a list around, is the server's to compute: the tab goes on (n8n #10128).
  const list = Array.from({ length: 200 }, (_, at) => at);
  const run = await (await call("POST", `/workflow-versions/${id}/runs`, { eventData: { list } })).json();
  for (let tries = 0; tries < 100 && (await (await call("GET", `/runs/${run.id}`)).json()).status !== "completed"; tries++) await new Promise((done) => setTimeout(done, 50));
  const expression = side.getByRole("textbox", { name: "Expression" });
  await side.locator(".cm-editor").first().waitFor();
  const write = async (text) => {
    await expression.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(text);
    await page.keyboard.press("Escape");
  };
  await write("payload.list.reverse()");
  await side.getByText(/^\[199,198,197/).waitFor();
  await write("payload.list.map(a => payload.list.map(b => payload.list.map(c => payload.list.map(d => a + b + c + d))))");
  await side.getByText(/must be done within \d+ steps/).waitFor();
  await write("payload");
  await saved();

  // What the gateway does not take is said at once, with where it is, and whoever leaves is asked (Windmill #11241).
  tolerate(/400/);
  await card("first").click();
  await card("first").focus();
  await page.keyboard.press("Control+c");
  await page.evaluate(async () => navigator.clipboard.writeText((await navigator.clipboard.readText()).replace('"name": "first"', `"name": "${"long ".repeat(60)}"`).replace('"name":"first"', `"name":"${"long ".repeat(60)}"`)));
  await graph.locator(".react-flow__pane").click({ position: { x: 20, y: 20 } });
  await page.keyboard.press("Control+v");
  await page.getByRole("status").getByText("It cannot be saved like this").waitFor();
  await page.getByRole("button", { name: /^Problems: / }).click();
  const problem = page.getByRole("region", { name: "Problems" }).getByRole("button", { name: /at most 255 characters/ });
  await problem.waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Leave without saving?" });
  await dialog.waitFor();
  await examine("editor-leave");
  await dialog.getByRole("button", { name: "Stay" }).click();
  await problem.click();
  const name = side.getByLabel("Name", { exact: true });
  await examine("editor-refused");
  await name.fill("Short");
  await saved();
  await page.getByRole("button", { name: /^Problems: / }).waitFor({ state: "detached" });
  await name.evaluate((input) => input.removeAttribute("maxlength"));
  await name.fill("x".repeat(300));
  await page.getByRole("status").getByText("It cannot be saved like this").waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await dialog.getByRole("button", { name: "Leave, and lose them" }).click();
  await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();

  // A published version takes nothing: no key, no field, no code (n8n #4018).
  assert.equal((await call("POST", `/workflow-versions/${id}/publish`)).status, 200);
  const published = await (await call("GET", `/workflow-versions/${id}`)).json();
  await open(`workflows/${workflow.id}/editor`);
  await page.getByRole("status").getByText("Read only").waitFor();
  await card("second").click();
  assert.equal(await side.getByLabel("Name", { exact: true }).isDisabled(), true);
  await side.locator(".cm-editor").first().waitFor();
  await expression.click();
  await page.keyboard.type("changed");
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Escape");
  await card("second").focus();
  for (const key of ["Delete", "Backspace", "ArrowDown", "Control+x", "Control+v", "a", "t", "Control+y"]) await page.keyboard.press(key);
  assert.equal(await graph.locator(".react-flow__node").count(), published.nodes.length);
  assert.equal(await page.getByRole("button", { name: /^(Add|Insert|Delete)/ }).and(page.locator(":enabled")).count(), 0);
  assert.equal(await expression.innerText(), "payload");
  await page.getByRole("status").getByText("Read only").waitFor();
  const after = await (await call("GET", `/workflow-versions/${id}`)).json();
  assert.deepEqual([after.nodes, after.edges], [published.nodes, published.edges]);
};
