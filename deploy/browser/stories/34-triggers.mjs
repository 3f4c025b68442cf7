// Somebody makes triggers, calls one, sees when a schedule fires across a change of the clocks.
export default async ({ page, assert, examine, open, call, tolerate }) => {
  const main = page.getByRole("main");
  const dialog = page.getByRole("dialog");
  const act = async (name) => {
    await main.getByRole("button", { name: /^Actions for (?!the hook)/ }).click();
    await page.getByRole("menuitem", { name, exact: true }).click();
  };
  const create = async (name, start) => {
    await open("triggers");
    await main.getByRole("button", { name: "Create a trigger" }).first().waitFor();
    await page.keyboard.press("c");
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByLabel("Workflow").selectOption({ label: "Example: notice large orders" });
    await dialog.getByLabel("Version").waitFor();
    await dialog.getByLabel("What starts it").selectOption(start);
  };
  const id = () => new URL(page.url()).pathname.split("/").at(-1);
  tolerate(/404/); // it asks whether there is a hook, and for a trigger that goes

  await create("Orders", "event");
  await dialog.getByLabel("Event").fill("order.created");
  await dialog.getByLabel("Filter").fill("payload.amount >= ");
  tolerate(/400/);
  await page.getByRole("button", { name: "Create the trigger" }).click();
  await dialog.getByLabel("Filter").and(page.locator("[aria-invalid=true]")).waitFor();
  await dialog.getByLabel("Filter").fill("payload.amount >= 10");
  await examine("create-trigger");
  await page.getByRole("button", { name: "Create the trigger" }).click();
  await page.getByRole("heading", { name: "Orders" }).waitFor();
  await page.getByText("No third party can call it").waitFor();
  await examine("trigger");
  await page.getByRole("button", { name: "Copy the address" }).click();
  const address = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(address.endsWith(`/v1/gateway/triggers/${id()}/webhook`));
  assert.equal((await fetch(address, { method: "POST" })).status, 401);

  await page.getByRole("button", { name: "Test call" }).click();
  await dialog.getByLabel("Event, as JSON").fill("{");
  await page.getByRole("button", { name: "Call it" }).click();
  await dialog.getByText("This must be JSON").waitFor();
  await dialog.getByLabel("Event, as JSON").fill('{"amount": 5}');
  await page.getByRole("button", { name: "Call it" }).click();
  await dialog.getByText("no run was started").waitFor();
  await dialog.getByLabel("Event, as JSON").fill('{"id": "order-7", "amount": 50}');
  await page.getByRole("button", { name: "Call it" }).click();
  await dialog.getByRole("link", { name: "It started a run" }).waitFor();
  await examine("test-call");
  await page.keyboard.press("Escape");

  await act("Switch off");
  await page.getByText("The trigger is off").waitFor();
  await act("Edit");
  await dialog.getByLabel("Name").fill("Large orders");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Large orders" }).waitFor();
  const saved = await (await call("GET", `/triggers/${id()}`)).json();
  assert.deepEqual([saved.isActive, saved.config.filter, saved.config.webhookConfig], [false, "payload.amount >= 10", { event: "order.created" }]);

  // The night in which the clocks of Berlin go forward; the preview has to reach it.
  await create("Nightly", "schedule");
  await dialog.getByLabel("Cron").fill("30 2 28-31 3 *");
  await dialog.getByLabel("Time zone").fill("Europe/Berlin");
  await dialog.getByText("The clocks go forward").first().waitFor();
  await examine("create-schedule");
  await page.getByRole("button", { name: "Create the trigger" }).click();
  await page.getByRole("heading", { name: "Nightly" }).waitFor();
  await main.getByText("The clocks go forward").first().waitFor();
  await main.getByText("It was not due yet").waitFor();
  await examine("schedule");
  await create("Often", "schedule");
  await dialog.getByLabel("When", { exact: true }).selectOption("interval");
  await dialog.getByLabel("Every", { exact: true }).fill("2");
  await dialog.getByLabel("Unit").selectOption("hours");
  await dialog.getByRole("table", { name: "Next times" }).waitFor();
  await page.getByRole("button", { name: "Create the trigger" }).click();
  await page.getByRole("heading", { name: "Often" }).waitFor();
  assert.equal((await (await call("GET", `/triggers/${id()}`)).json()).config.scheduleConfig.intervalMs, 7_200_000);

  await act("Delete");
  await page.getByRole("alertdialog").getByText("the record of the times").waitFor();
  await examine("delete-trigger");
  await page.getByRole("button", { name: "Delete the trigger" }).click();
  await page.waitForURL(/\/triggers$/);
  await page.getByRole("link", { name: "Large orders" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Often" }).count(), 0);
  await examine("triggers");
};
