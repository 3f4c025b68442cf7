// Somebody tries a draft before it runs: with the event of a past run, step by step on a virtual clock, answering for people and other systems; in
// the list by keys alone, too. Then it runs for real with the same event.
const node = (id, name, type, config, more) => ({ id, type, version: "1.0.0", name, config, ...more });
const edge = (sourceNodeId, targetNodeId, sourceOutputKey) => ({ sourceNodeId, targetNodeId, sourceOutputKey });

/** What this is about happens in the browser, whatever the database. */
export const ofTheBrowser = true;

export default async ({ page, assert, examine, open, call }) => {
  const workflow = await (await call("POST", "/workflows", { name: "Ship large orders" })).json();
  const at = (x, y) => ({ position: { x: x * 280, y: y * 130 } });
  const nodes = [
    node("large", "Is it large?", "condition", { condition: "payload.amount >= 1000" }, at(0, 0)),
    node("ask", "May it ship?", "input", { inputType: "boolean", prompt: "May it ship?", timeoutMs: 86_400_000 }, at(1, 0)),
    node("small", "Say thanks", "transform", { expression: "{ thanks: payload.id }" }, at(1, 1)),
    node("night", "Until tomorrow", "wait", { delayMs: 36_000_000 }, at(2, 0)),
    node("carrier", "Call the carrier", "httpRequest", { method: "POST", url: "https://carrier.example.com/{{ payload.id }}" }, at(3, 0)),
    node("each", "Each parcel", "forEach", { items: "payload.parcels" }, at(4, 0)),
    node("label", "Print a label", "httpRequest", { method: "POST", url: "https://printer.example.com/{{ item }}" }, { parentId: "each", position: { x: 24, y: 72 } }),
    node("late", "Tell support", "transform", { expression: "{ late: true }" }, at(4, 2)),
  ];
  const edges = [
    edge("large", "ask", "true"), edge("large", "small", "false"), edge("ask", "night"), edge("night", "carrier"), edge("carrier", "each"), edge("carrier", "late", "onError"),
  ];
  const version = await (await call("POST", "/workflow-versions", { workflowId: workflow.id, nodes, edges })).json();
  const small = await (await call("POST", `/workflow-versions/${version.id}/runs`, { eventData: { id: "order-7", amount: 20, parcels: [] }, entityId: "order-7" })).json();

  const panel = page.getByRole("region", { name: "Simulation" });
  const graph = page.getByRole("region", { name: "Graph" });
  const card = (name) => graph.locator(".react-flow__node").filter({ hasText: name });
  const step = (text) => panel.getByRole("status").filter({ hasText: text }).waitFor();
  const next = () => panel.getByRole("button", { name: "Next step" }).click();
  const event = panel.getByRole("textbox", { name: "Event, as JSON" });
  const taken = () => page.evaluate(() => document.querySelectorAll(".react-flow__edge-path[style*='--ok']").length);

  // From the run, its event comes along.
  await open(`runs/${small.id}`);
  await page.getByRole("link", { name: "Try its event in the editor" }).click();
  await page.waitForFunction(() => document.querySelector("#simulated-event")?.value.includes("order-7"));
  await panel.getByRole("button", { name: "Simulate" }).click();
  await step(/Step 1 of \d+ · after 0 ms · The run begins/);
  await panel.getByRole("button", { name: "To the end" }).click();
  await step("The run is completed");
  await panel.getByRole("region", { name: "Output of the run" }).getByText("order-7").waitFor();
  await card("Say thanks").getByText("Completed").waitFor();
  await card("May it ship?").getByText("Skipped").waitFor();
  assert.equal(await taken(), 1);

  // What is no JSON is said beside it, and nothing is sent.
  await event.fill('{ "amount": }');
  await panel.getByText(/JSON/).and(panel.locator(".text-danger")).waitFor();
  assert.equal(await panel.getByRole("button", { name: "Simulate" }).isDisabled(), true);
  await examine("editor-event-problem");

  // Undo within the simulation is the field's own; elsewhere it takes back what was changed in the workflow.
  await card("Say thanks").click();
  await page.getByRole("complementary").getByLabel("Name", { exact: true }).fill("Thank you");
  await page.getByRole("status").getByText("Saved", { exact: true }).waitFor();
  await event.pressSequentially("x");
  await page.keyboard.press("Control+z");
  await panel.getByRole("button", { name: "Next step" }).focus();
  await page.keyboard.press("Control+z");
  await page.waitForTimeout(200);
  await card("Thank you").waitFor();
  assert.equal(await event.inputValue(), '{ "amount": }');
  await page.locator("main").focus();
  await page.keyboard.press("Control+z");
  await card("Say thanks").waitFor();
  await page.getByRole("complementary").getByRole("button", { name: "Close" }).click();
  assert.ok(await card("Say thanks").evaluate((element) => element === document.activeElement), "the focus is on the node whose panel was closed");

  // Without an answer the question expires; then a person answers it, and the night passes at once.
  await event.fill('{ "id": "order-8", "amount": 1500, "parcels": ["a", "b", "c"] }');
  await panel.getByRole("button", { name: "Simulate" }).click();
  await panel.getByText("Failed", { exact: true }).waitFor();
  await next();
  await next();
  await step("May it ship? waits");
  await card("May it ship?").getByText("Waiting").waitFor();
  await panel.getByText("Answer May it ship?").click();
  await examine("editor-simulated-question");
  const yes = panel.getByRole("button", { name: "Yes", exact: true });
  const good = await event.inputValue();
  await event.fill("{");
  await yes.click();
  await page.getByText("The event is no JSON.").waitFor();
  await step("May it ship? waits");
  await event.fill(good);
  await yes.click();
  await step("May it ship? is completed");
  await next();
  await step("Until tomorrow waits");
  await next();
  await step(/after 10 h 0 min · Until tomorrow is completed/);
  await next();

  // The carrier fails, is tried again, and fails for good: an edge takes that. Then it works.
  await step("Call the carrier begins");
  await panel.getByText("carrier.example.com/order-8").waitFor();
  await panel.getByRole("combobox", { name: "What happens" }).selectOption("It fails");
  await panel.getByRole("textbox", { name: /^Message/ }).fill("The carrier sleeps");
  await panel.getByRole("checkbox", { name: "Another attempt may succeed" }).uncheck();
  await panel.getByRole("button", { name: "Go on with it" }).click();
  await step("Call the carrier fails");
  await panel.getByText("The carrier sleeps").waitFor();
  await panel.getByText("An edge takes the failure").waitFor();
  await card("Tell support").waitFor();
  await examine("editor-simulated-failure");
  await panel.getByRole("button", { name: "Step before" }).click();
  await panel.getByText("Say what Call the carrier gets").click();
  await panel.getByRole("combobox", { name: "What happens" }).selectOption("It gives something");
  await panel.getByRole("button", { name: "Go on with it" }).click();
  await step("Call the carrier is completed");

  // By keys alone, in the list: the items of the loop need an answer, which is the same for all.
  await page.locator("main").focus();
  await page.keyboard.press("l");
  const row = (name) => page.getByRole("region", { name: "Nodes in their order" }).getByRole("listitem").filter({ has: page.getByRole("button", { name, exact: true }) });
  await row("Call the carrier").getByText("Completed").waitFor();
  await page.keyboard.press("]");
  await step("Each parcel waits");
  await row("Print a label").getByText("3 calls").waitFor();
  await panel.getByText("It needs your answer").waitFor();
  await examine("editor-simulated-list");
  await panel.getByRole("button", { name: "Go on with it" }).press("Enter");
  await step("Each parcel is completed");
  await page.keyboard.press("]");
  await step("The run is completed");
  await panel.getByText("calls: 4").waitFor();
  await page.keyboard.press("[");
  await step("Each parcel is completed");
  await page.locator("main").focus();
  await page.keyboard.press("l");
  await panel.getByRole("button", { name: "To the beginning" }).click();
  await panel.getByRole("button", { name: "Play", exact: true }).click();
  await step("The run is completed");
  await panel.getByRole("button", { name: "Play", exact: true }).waitFor();
  assert.equal(await taken(), 4);
  await examine("editor-simulated");

  // Of a loop, one item is looked at: what its nodes got and gave.
  await panel.getByRole("button", { name: "Step before" }).click();
  await step("Each parcel is completed");
  const items = panel.getByRole("region", { name: "Items of Each parcel" });
  await items.getByRole("combobox", { name: "Item of Each parcel" }).selectOption({ label: "#1 · Completed" });
  await items.getByText("Print a label").click();
  await items.getByRole("region", { name: "Input of Print a label" }).getByText('"b"').waitFor();
  await items.getByRole("region", { name: "Output of Print a label" }).getByText("status").waitFor();
  await examine("editor-simulated-item");
  await step("Each parcel is completed");
  const chosen = items.getByRole("combobox", { name: "Item of Each parcel" });
  await chosen.focus();
  await chosen.press("ArrowDown"); // the next one by keys: the focus stays
  await items.getByRole("region", { name: "Input of Print a label" }).getByText('"c"').waitFor();
  assert.ok(await chosen.evaluate((element) => element === document.activeElement), "the choice keeps the focus");

  // Closed panels leave the focus with what they were opened by.
  const hasFocus = async (button) => assert.ok(await button.evaluate((element) => element === document.activeElement), `${button} has the focus`);
  await panel.getByRole("button", { name: "Close the simulation" }).click();
  await hasFocus(page.getByRole("button", { name: "Simulate", exact: true }));
  await page.getByRole("button", { name: "Triggers", exact: true }).click();
  await page.getByRole("complementary").getByRole("button", { name: "Close" }).click();
  await hasFocus(page.getByRole("button", { name: "Triggers", exact: true }));
  await page.getByRole("button", { name: "Add a node", exact: true }).click();
  await page.getByRole("complementary").getByRole("button", { name: "Close" }).click();
  await hasFocus(page.getByRole("button", { name: "Add a node", exact: true }));
  await graph.locator(".react-flow__edge").first().focus();
  await page.keyboard.press("Enter");
  await page.getByRole("complementary").getByRole("button", { name: "Close" }).click();
  await hasFocus(graph.locator(".react-flow__edge").first());

  // An event that is typed before the one of the run has come stays.
  let arrive;
  const arrived = new Promise((done) => (arrive = done));
  await page.route(`**/runs/${small.id}`, async (route) => {
    await arrived;
    await route.continue();
  });
  await open(`workflows/${workflow.id}/editor?run=${small.id}`);
  await event.fill(good);
  const late = page.waitForResponse(`**/runs/${small.id}`);
  arrive();
  await (await late).finished();
  await page.waitForTimeout(200);
  assert.equal(await event.inputValue(), good);

  // Nothing of it was kept; then it runs for real, with the event as it stands there.
  assert.equal((await (await call("GET", `/runs?workflowId=${workflow.id}`)).json()).total, 1);
  await panel.getByRole("button", { name: "Run it for real" }).click();
  const dialog = page.getByRole("dialog", { name: "Run this version" });
  assert.match(await dialog.getByLabel("Event").inputValue(), /order-8/);
  await dialog.getByRole("button", { name: "Start the run" }).click();
  await page.waitForURL(/\/runs\/run_/);
  const [run] = (await (await call("GET", `/runs?workflowId=${workflow.id}&sortBy=createdAt&sortOrder=desc`)).json()).items;
  assert.deepEqual((await (await call("GET", `/runs/${run.id}`)).json()).context.data.input, { id: "order-8", amount: 1500, parcels: ["a", "b", "c"] });
};
