// Somebody makes a webhook endpoint, sees deliveries come in and fail, sends one again, rotates the secret, pauses and deletes it.
import { createServer } from "node:http";

export default async ({ page, assert, examine, open, call, tolerate }) => {
  const received = [];
  let status = 500;
  const receiver = createServer((request, response) => {
    received.push(request.headers["webhook-signature"]);
    response.writeHead(status).end(status === 500 ? "<b>out of order</b>" : "");
  });
  await new Promise((listening) => receiver.listen(0, "127.0.0.1", listening));
  const address = `http://127.0.0.1:${receiver.address().port}/events`;
  const main = page.getByRole("main");
  const dialog = page.getByRole("dialog");
  const act = async (name) => {
    await main.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name }).click();
  };
  try {
    await open("endpoints");
    await main.getByRole("button", { name: "Create a webhook endpoint" }).first().waitFor();
    await page.keyboard.press("c");
    tolerate(/400/);
    await dialog.getByLabel("URL").fill("nowhere");
    await page.getByRole("button", { name: "Create the endpoint" }).click();
    await dialog.getByLabel("URL").and(page.locator("[aria-invalid=true]")).waitFor();
    await dialog.getByLabel("URL").fill(address);
    await dialog.getByLabel("Description").fill("Tells the billing");
    await dialog.getByLabel("run.failed").check();
    await examine("create-endpoint");
    await page.getByRole("button", { name: "Create the endpoint" }).click();
    const secret = await page.getByRole("dialog", { name: "The new secret" }).locator("code").innerText();
    assert.match(secret, /^whsec_/);
    await examine("endpoint-secret");
    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByText("Nothing was sent yet").waitFor();

    await page.getByRole("button", { name: "Send a test event" }).click();
    const first = page.getByRole("table", { name: "Deliveries" }).getByRole("button", { name: "webhook_endpoint.test" }).first();
    await first.click();
    await dialog.getByText("<b>out of order</b>").waitFor(); // it comes in by itself
    await examine("delivery");
    status = 204;
    await page.getByRole("button", { name: "Send again" }).click();
    await dialog.getByText("Delivered").waitFor();
    await dialog.getByText("Somebody asked for it").first().waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("table", { name: "Deliveries" }).getByText("Delivered").waitFor();
    await examine("endpoint");
    assert.ok(received.length >= 2);

    await act("Rotate the secret");
    await page.getByRole("button", { name: "Rotate the secret" }).click();
    const second = await page.getByRole("dialog", { name: "The new secret" }).locator("code").innerText();
    assert.notEqual(second, secret);
    await page.getByRole("button", { name: "I have copied it" }).click();
    assert.ok(!(await page.content()).includes(second));

    await act("Pause");
    await page.getByText("The endpoint is paused").waitFor();
    await page.getByRole("button", { name: "Send a test event" }).and(page.locator(":disabled")).waitFor();
    await act("Edit");
    await dialog.getByLabel("run.failed").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The endpoint was saved").waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1);
    const saved = await (await call("GET", `/webhook-endpoints/${id}`)).json();
    assert.deepEqual([saved.events, saved.isActive, saved.description], [[], false, "Tells the billing"]);

    tolerate(/404/); // news of its deliveries may come in while it goes
    await act("Delete");
    await page.getByRole("alertdialog").getByText("its deliveries").waitFor();
    await examine("delete-endpoint");
    await page.getByRole("button", { name: "Delete the endpoint" }).click();
    await page.waitForURL(/\/endpoints$/);
    assert.equal((await call("GET", `/webhook-endpoints/${id}`)).status, 404);
    await examine("endpoints");
  } finally {
    receiver.close();
    receiver.closeAllConnections();
  }
};
