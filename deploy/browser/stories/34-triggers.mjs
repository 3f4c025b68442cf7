// Somebody makes triggers of every sort, calls one, sees when a schedule fires across a change of the clocks, and gives a third party an address.
import { createHmac } from "node:crypto";

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
    await dialog.getByRole("combobox", { name: "Workflow" }).click();
    await dialog.getByRole("combobox", { name: "Workflow" }).fill("large");
    await dialog.getByRole("option", { name: "Example: notice large orders" }).click();
    await dialog.getByLabel("Version").waitFor();
    await dialog.getByLabel("What starts it").selectOption(start);
  };
  const id = () => new URL(page.url()).pathname.split("/").at(-1);
  tolerate(/404/); // it asks whether there is a hook, and for a trigger that goes

  // Who chooses no workflow is told where, and Enter chooses nothing that the text does not find.
  await open("triggers");
  await main.getByRole("button", { name: "Create a trigger" }).first().waitFor();
  await page.keyboard.press("c");
  await dialog.getByLabel("Name").fill("Orders");
  tolerate(/400/);
  await page.getByRole("button", { name: "Create the trigger" }).click();
  const workflow = dialog.getByRole("combobox", { name: "Workflow" });
  await workflow.and(page.locator("[aria-invalid=true]")).waitFor();
  await workflow.click();
  await dialog.getByRole("option", { name: "Example: notice large orders" }).waitFor();
  await workflow.fill("no workflow has this name");
  await workflow.press("Enter");
  assert.equal(await workflow.inputValue(), "no workflow has this name");
  await dialog.getByText("Nothing has this name").waitFor();
  // A search that fails says so, and can be tried again.
  const searched = (address) => address.pathname.endsWith("/workflows") && address.searchParams.get("search") === "large";
  await page.route(searched, (route) => route.fulfill({ status: 400, json: { code: "invalid", message: "The search failed", requestId: "request" } }));
  await workflow.fill("large");
  await dialog.getByText("The search failed").waitFor();
  await page.unroute(searched);
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog.getByRole("option", { name: "Example: notice large orders" }).click();
  await dialog.getByLabel("Version").waitFor();
  await page.keyboard.press("Escape");

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

  // A hook for GitHub: what is signed starts a run, what is not is refused, and both are listed.
  await create("Pushes", "hook");
  await page.getByRole("button", { name: "Create the trigger" }).click();
  await page.getByRole("dialog", { name: "Create a hook" }).waitFor();
  await dialog.getByLabel("The sender's signing secret").fill("a secret of GitHub");
  await examine("create-hook");
  await page.getByRole("button", { name: "Create the hook" }).click();
  const url = await page.getByRole("dialog", { name: "The hook's address" }).locator("code").innerText();
  await examine("hook-address");
  await page.getByRole("button", { name: "I have copied it" }).click();
  assert.ok(!(await page.content()).includes(url));
  const send = (target, body, secret) =>
    fetch(target, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": String(Math.random()),
        "X-Hub-Signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
      },
      body,
    });
  assert.equal((await send(url, '{"ref": "main", "amount": 5000}', "a secret of GitHub")).status, 202);
  assert.equal((await send(url, "{}", "a wrong one")).status, 401);
  const received = page.getByRole("table", { name: "Received" });
  await received.getByText("Accepted").waitFor();
  await received.getByText("Not from the sender").waitFor();
  await examine("hook");
  await received.getByRole("row", { name: "Accepted" }).getByRole("button").click();
  await dialog.getByText('"POST"').waitFor();
  await examine("hook-delivery");
  await page.getByRole("button", { name: "Replay" }).click();
  await dialog.getByText("Repeats").waitFor();
  await page.keyboard.press("Escape");

  const hook = async (name) => {
    await main.getByRole("button", { name: "Actions for the hook" }).click();
    await page.getByRole("menuitem", { name, exact: true }).click();
  };
  await hook("Check a signature");
  await dialog.getByLabel("Headers").fill("X-Hub-Signature-256: sha256=00");
  await dialog.getByLabel("Body, as it was sent").fill("{}");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await dialog.getByText("It is not genuine").waitFor();
  await examine("check-signature");
  await page.keyboard.press("Escape");
  await hook("New address");
  await dialog.getByLabel("The old address ends").selectOption({ label: "at once" });
  await page.getByRole("button", { name: "Make a new address" }).click();
  const next = await page.getByRole("dialog", { name: "The hook's address" }).locator("code").innerText();
  await page.getByRole("button", { name: "I have copied it" }).click();
  assert.equal((await send(url, "{}", "a secret of GitHub")).status, 404);
  assert.equal((await send(next, '{"amount": 1}', "a secret of GitHub")).status, 202);

  await act("Delete");
  await page.getByRole("alertdialog").getByText("its hook, where it has one").waitFor();
  await examine("delete-trigger");
  await page.getByRole("button", { name: "Delete the trigger" }).click();
  await page.waitForURL(/\/triggers$/);
  assert.equal((await send(next, "{}", "a secret of GitHub")).status, 404);
  await page.getByRole("link", { name: "Large orders" }).waitFor();
  await examine("triggers");
};
