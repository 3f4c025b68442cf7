// Somebody makes a custom node, checks it, takes it out of the palette, rotates the secret, and deletes it.
import { createServer } from "node:http";

export default async ({ page, assert, examine, open, call, tolerate }) => {
  const server = createServer((_, response) => response.writeHead(200, { "Content-Type": "application/json" }).end('{"status": "ok"}'));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const main = page.getByRole("main");
  const dialog = page.getByRole("dialog");
  const act = async (name) => {
    await main.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name }).click();
  };
  try {
    await open("nodes");
    await page.getByText("There are no custom nodes yet").waitFor();
    await page.keyboard.press("c");
    await dialog.getByLabel("Name").fill("Score an order");
    await dialog.getByLabel("Type").fill("acme.score");
    await dialog.getByLabel("URL").fill(`http://127.0.0.1:${server.address().port}/score`);
    await dialog.getByLabel("Schema of the input").fill("{");
    await page.getByRole("button", { name: "Create the node" }).click();
    await dialog.getByText("This must be a JSON object").waitFor();
    await dialog.getByLabel("Schema of the input").fill('{"order": {"type": "objekt"}}');
    tolerate(/400/);
    await page.getByRole("button", { name: "Create the node" }).click();
    await dialog.getByText("inputSchema.order.type").waitFor();
    await dialog.getByLabel("Schema of the input").fill('{"order": {"type": "object", "required": true}}');
    await examine("create-node");
    await page.getByRole("button", { name: "Create the node" }).click();
    const secret = page.getByRole("dialog", { name: "The new secret" });
    assert.match(await secret.locator("code").innerText(), /^whsec_/);
    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByRole("heading", { name: "Score an order" }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1);
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText("Checked", { exact: true }).waitFor();
    await examine("node");
    await act("Edit");
    await dialog.getByLabel("Version").fill("1.1.0");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("1.1.0").waitFor();
    await act("Offer it no more");
    await page.getByText("workflows that have it go on").waitFor();
    const saved = await (await call("GET", `/custom-nodes/${id}`)).json();
    assert.deepEqual([saved.version, saved.isActive, saved.inputSchema], ["1.1.0", false, { order: { type: "object", required: true } }]);

    await open("nodes");
    await page.getByRole("button", { name: "Rotate the secret" }).click();
    await dialog.getByLabel("The old secret ends").selectOption({ label: "in a day" });
    await dialog.getByRole("button", { name: "Rotate" }).click();
    await secret.waitFor();
    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByText("Still signs").waitFor();
    await examine("nodes");

    await page.getByRole("link", { name: "Score an order" }).click();
    await act("Delete");
    await page.getByRole("alertdialog").getByRole("textbox").fill("acme.score");
    await examine("delete-node");
    await page.getByRole("button", { name: "Delete the node" }).click();
    await page.waitForURL(/\/nodes$/);
    assert.equal((await call("GET", `/custom-nodes/${id}`)).status, 404);
  } finally {
    server.close();
    server.closeAllConnections();
  }
};
