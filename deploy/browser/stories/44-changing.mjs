// Somebody changes a workflow that is there: edges lead elsewhere, a case of a switch goes, and texts with expressions in them are completed. Then they do it by touch.
const node = (id, type, version, config, x, y) => ({ id, type, version, name: id, config, position: { x, y } });
const edge = (sourceNodeId, targetNodeId, sourceOutputKey) => ({ sourceNodeId, targetNodeId, sourceOutputKey });

/** What this is about happens in the browser, whatever the database. */
export const ofTheBrowser = true;

export default async ({ page, assert, examine, open, call }) => {
  const workflow = await (await call("POST", "/workflows", { name: "Sort orders" })).json();
  const cases = ["small", "middle", "large"].map((value) => ({ value }));
  const nodes = [
    node("sort", "switch", "1.0.0", { expression: "payload.size", cases }, 0, 0),
    node("small", "transform", "1.0.0", { expression: "1" }, 560, -120),
    node("large", "transform", "1.0.0", { transformType: "map", mapping: { size: "payload.size" } }, 560, 60),
    node("send", "httpRequest", "1.1.0", { url: "https://example.com/orders" }, 560, 300),
  ];
  const edges = [edge("sort", "small", "case-0"), edge("sort", "large", "case-2")];
  const version = await (await call("POST", "/workflow-versions", { workflowId: workflow.id, nodes, edges })).json();
  assert.equal((await call("POST", `/workflow-versions/${version.id}/publish`)).status, 200);
  const run = await (await call("POST", `/workflows/${workflow.id}/runs`, { eventData: { size: "small", customer: { name: "Ann" } } })).json();
  for (let tries = 0; tries < 100 && (await (await call("GET", `/runs/${run.id}`)).json()).status !== "completed"; tries++) await new Promise((done) => setTimeout(done, 50));
  const draft = async () => (await (await call("GET", `/workflow-versions?workflowId=${workflow.id}`)).json()).items[0];
  const edgesNow = async () => (await draft()).edges.map(({ sourceNodeId, sourceOutputKey, targetNodeId }) => [sourceNodeId, sourceOutputKey, targetNodeId]).sort();
  const side = page.getByRole("complementary");
  const graph = page.getByRole("region", { name: "Graph" });
  const card = (name) => graph.locator(`.react-flow__node[data-id="${name}"]`);
  const drawn = (from, to) => graph.getByRole("group", { name: `${from} → ${to}`, exact: true });
  const saved = () => page.getByRole("status").getByText("Saved", { exact: true }).waitFor();

  await open(`workflows/${workflow.id}/editor`);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await saved();

  // The end of an edge is dragged to another node; it is taken back, and done again by a list.
  await drawn("sort", "large").focus();
  await page.keyboard.press("Enter");
  await page.waitForTimeout(300); // until the view has moved there
  const end = await graph.locator(".react-flow__edgeupdater-target").boundingBox();
  const target = await card("send").locator(".react-flow__handle-left").boundingBox();
  await page.mouse.move(end.x + end.width / 2, end.y + end.height / 2);
  await page.mouse.down();
  await page.mouse.move(target.x - 40, target.y - 10, { steps: 6 });
  await page.mouse.move(target.x + 5, target.y + 5, { steps: 6 });
  await page.mouse.up();
  await drawn("sort", "send").waitFor();
  await saved();
  assert.deepEqual(await edgesNow(), [["sort", "case-0", "small"], ["sort", "case-2", "send"]]);
  await page.getByRole("button", { name: "Undo" }).click();
  await drawn("sort", "large").waitFor();
  await page.keyboard.press("l");
  const list = page.getByRole("region", { name: "Nodes in their order" });
  await list.getByRole("button", { name: /leads to\s*large/ }).click();
  await side.getByLabel("It leads to").selectOption("send");
  await list.getByRole("button", { name: /leads to\s*send/ }).waitFor();
  assert.equal(await side.getByLabel("It leads to").inputValue(), "send");

  // The condition of an edge is completed as expressions of nodes are, and so are texts with expressions in them, and values of a mapping.
  const write = async (label, text) => {
    const box = side.getByRole("textbox", { name: label });
    await box.click();
    await page.keyboard.press("Control+a");
    await box.pressSequentially(text, { delay: 20 });
  };
  await saved();
  await write("Only where", "payload.customer.na");
  await page.getByRole("option", { name: /name/ }).click();
  await page.keyboard.type(" == 'Ann'");
  await page.keyboard.press("Escape");
  await side.getByText("true", { exact: true }).waitFor();
  await examine("editor-edge");
  await saved();
  assert.deepEqual((await draft()).edges.map(({ condition }) => condition).filter(Boolean), ["payload.customer.name == 'Ann'"]);
  await page.getByRole("button", { name: "Show the graph" }).click();
  await card("send").click();
  await write("URL", "https://example.com/{{ payload.customer.na");
  await page.getByRole("option", { name: /name/ }).click();
  await page.keyboard.type(" }}");
  await page.keyboard.press("Enter"); // it is one line
  await side.getByText('"https://example.com/Ann"').waitFor();
  await side.getByRole("button", { name: "Add to Headers" }).click();
  await side.getByRole("textbox", { name: "Name 1" }).fill("X-Size");
  await write("Value of X-Size", "{{ payload.si");
  await page.getByRole("option", { name: /size/ }).click();
  await page.keyboard.type(" }}");
  await side.getByText('"small"').waitFor();
  await examine("editor-template");
  await card("large").click();
  await write("Value of size", "payload.cust");
  await page.getByRole("option", { name: /customer/ }).click();
  await side.getByText('{"name":"Ann"}').waitFor();
  await saved();
  const configs = Object.fromEntries((await draft()).nodes.map(({ id, config }) => [id, config]));
  assert.deepEqual([configs.send, configs.large.mapping], [
    { url: "https://example.com/{{ payload.customer.name }}", headers: { "X-Size": "{{ payload.size }}" } },
    { size: "payload.customer" },
  ]);

  // A case that goes takes its branch along, and the later ones keep theirs.
  await card("sort").click();
  await side.getByRole("button", { name: "Take away 1" }).click();
  await drawn("sort", "small").waitFor({ state: "detached" });
  await saved();
  assert.deepEqual(await edgesNow(), [["sort", "case-1", "send"]]);
  await page.getByRole("button", { name: "Undo" }).click();
  await drawn("sort", "small").waitFor();
  await saved();
  assert.deepEqual(await edgesNow(), [["sort", "case-0", "small"], ["sort", "case-2", "send"]]);

  // On a screen that is touched, nodes are dragged and connected by a finger.
  const screen = await page.context().newCDPSession(page);
  await screen.send("Emulation.setTouchEmulationEnabled", { enabled: true });
  await page.reload();
  await card("small").waitFor();
  await page.waitForTimeout(300);
  const drag = async (from, to, end = "touchEnd") => {
    const touch = (type, points) => screen.send("Input.dispatchTouchEvent", { type, touchPoints: points });
    await touch("touchStart", [from]);
    for (let step = 1; step <= 8; step++) await touch("touchMove", [{ x: from.x + ((to.x - from.x) * step) / 8, y: from.y + ((to.y - from.y) * step) / 8 }]);
    await touch(end, []);
  };
  const middle = async (of) => {
    const { x, y, width, height } = await of.boundingBox();
    return { x: x + width / 2, y: y + height / 2 };
  };
  const at = async () => (await draft()).nodes.find(({ id }) => id === "small").position;
  const before = await at();
  const from = await middle(card("small"));
  await drag(from, { x: from.x - 60, y: from.y - 40 });
  await page.getByRole("status").getByText(/^(Not saved yet|Saving)/).waitFor();
  await saved();
  const after = await at();
  assert.ok(after.x < before.x && after.y < before.y, JSON.stringify({ before, after }));
  const handle = await middle(card("small").locator(".react-flow__handle-right"));
  await drag({ x: handle.x - 6, y: handle.y }, await middle(card("send").locator(".react-flow__handle-left"))); // a finger is not as exact as a mouse
  await drawn("small", "send").waitFor();
  await saved();
  assert.deepEqual(await edgesNow(), [["small", undefined, "send"], ["sort", "case-0", "small"], ["sort", "case-2", "send"]]);

  // An end of an edge is led elsewhere by a finger, too, once the edge is chosen.
  await page.getByRole("complementary").getByRole("button", { name: "Close" }).click();
  await drawn("small", "send").focus();
  await page.keyboard.press("Enter");
  const arrow = await middle(drawn("small", "send").locator(".react-flow__edgeupdater-target"));
  await drag(arrow, await middle(card("sort").locator(".react-flow__handle-left")));
  await page.waitForTimeout(300);
  assert.deepEqual((await edgesNow())[0], ["small", undefined, "send"], "no edge may lead back");
  const beginning = await middle(drawn("small", "send").locator(".react-flow__edgeupdater-source"));
  await drag(beginning, await middle(card("sort").locator(".react-flow__handle[data-handleid='out:default']")), "touchCancel"); // the system takes the finger
  await page.locator(".react-flow__connection").waitFor({ state: "detached" });
  await page.waitForTimeout(300);
  assert.deepEqual((await edgesNow())[0], ["small", undefined, "send"], "a drag that is cancelled changes nothing");
  await drag(beginning, await middle(card("sort").locator(".react-flow__handle[data-handleid='out:default']")));
  await drawn("small", "send").waitFor({ state: "detached" });
  await saved();
  assert.deepEqual(await edgesNow(), [["sort", "case-0", "small"], ["sort", "case-2", "send"], ["sort", "default", "send"]]);
  await screen.send("Emulation.setTouchEmulationEnabled", { enabled: false });

  // What had the focus is removed: keys go on in the graph.
  await drawn("sort", "small").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("complementary").getByRole("button", { name: "Delete the edge" }).click();
  await drawn("sort", "small").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Graph");
  await page.keyboard.press("Control+z");
  await drawn("sort", "small").waitFor();
};
