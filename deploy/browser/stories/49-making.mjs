// Somebody makes what a workflow needs without leaving the editor: connections, with the consent of an account, triggers, and the form that a person fills in.
import { createServer } from "node:http";

// What is called, and an authorization server in one: it asks, and gives a token for the code.
const others = createServer((request, response) => {
  const url = new URL(request.url, `http://${request.headers.host}`);
  if (url.pathname === "/authorize") {
    response.setHeader("Cross-Origin-Opener-Policy", "same-origin"); // as some do: the page that opened the window cannot see it any more
    const back = new URL(url.searchParams.get("redirect_uri"));
    back.searchParams.set("state", url.searchParams.get("state"));
    back.searchParams.set("code", "a-code");
    response.writeHead(200, { "Content-Type": "text/html" }).end(`<a href="${back.href.replaceAll("&", "&amp;")}">Allow it</a>`);
  } else {
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ access_token: "at-1", token_type: "Bearer", expires_in: 3600 }));
  }
});

const node = (id, type, version, config, y = 0) => ({ id, type, version, name: id, config, position: { x: 0, y } });

/** What this is about happens in the browser, whatever the database. */
export const ofTheBrowser = true;

export default async ({ page, assert, examine, open, call, tolerate }) => {
  await new Promise((listening) => others.listen(0, "127.0.0.1", listening));
  const host = `127.0.0.1:${others.address().port}`;
  const side = page.getByRole("complementary");
  const dialog = page.getByRole("dialog");
  const saved = () => page.getByRole("status").getByText("Saved", { exact: true }).waitFor();
  try {
    for (const hosts of [["eu.example.com"], [host]])
      assert.equal((await call("POST", "/connections", { name: "CRM", kind: "bearer", hosts, secret: { token: "a-token" } })).status, 201);
    const workflow = await (await call("POST", "/workflows", { name: "Approve an order" })).json();
    const nodes = [node("fetch", "httpRequest", "1.1.0", { url: `http://${host}/contacts` }), node("ask", "input", "1.1.0", { title: "Order {{ payload.id }}" }, 160)];
    const version = await (await call("POST", "/workflow-versions", { workflowId: workflow.id, nodes, edges: [] })).json();
    const draft = async () => (await call("GET", `/workflow-versions/${version.id}`)).json();
    const configOf = async (id) => (await draft()).nodes.find((one) => one.id === id).config;
    const show = (name) => page.getByRole("region", { name: "Graph" }).locator(".react-flow__node").filter({ hasText: name }).click();

    // Two connections have one name: their hosts tell them apart, and the one that is meant is chosen.
    await open(`workflows/${workflow.id}/editor`);
    await show("fetch");
    const connection = side.getByRole("combobox", { name: "connection" });
    await connection.click();
    await page.getByRole("option", { name: `CRM ${host}` }).waitFor();
    await examine("editor-connections");
    await connection.click();
    await page.getByRole("option", { name: `CRM ${host}` }).click();
    await side.getByText(`Bearer token · ${host}`).waitFor();
    await saved();
    const chosen = await (await call("GET", `/connections/${(await configOf("fetch")).connection}`)).json();
    assert.deepEqual(chosen.hosts, [host]);

    // A new one begins with the host of the node, asks for consent in a window of its own, and is chosen.
    await side.getByRole("button", { name: "New connection" }).click();
    tolerate(/400/);
    await dialog.getByRole("button", { name: "Create the connection" }).click();
    await dialog.locator("[aria-invalid=true]").first().waitFor();
    await dialog.getByLabel("Name").fill("Contacts");
    assert.equal(await dialog.getByLabel("Hosts").inputValue(), host);
    await dialog.getByLabel("Kind").selectOption("oauth2AuthorizationCode");
    await dialog.getByLabel("URL for consent").fill(`http://${host}/authorize`);
    await dialog.getByLabel("URL for tokens").fill(`http://${host}/token`);
    await dialog.getByLabel("Client ID").fill("sluice");
    await examine("editor-new-connection");
    await dialog.getByRole("button", { name: "Create the connection" }).click();
    await page.getByRole("dialog", { name: "Connect Contacts" }).waitFor();
    await examine("editor-consent");
    const connect = async () => {
      const popup = page.context().waitForEvent("page");
      await dialog.getByRole("button", { name: "Connect", exact: true }).click();
      await dialog.getByText("Waiting for your consent").waitFor();
      return popup;
    };
    const given = await connect();
    await given.close();
    await dialog.getByText("Waiting for your consent").waitFor({ state: "detached" }); // at once, and not when the link ends
    const consent = await connect();
    await consent.getByRole("link", { name: /^Continue to/ }).click();
    await consent.getByRole("link", { name: "Allow it" }).waitFor();
    await dialog.getByText("Waiting for your consent").waitFor({ state: "detached" }); // that page hides its window, so nobody knows whether it is still there
    await consent.getByRole("link", { name: "Allow it" }).click();
    await consent.getByText("You can close this window").waitFor();
    await consent.close();
    await page.getByText("Contacts is connected").waitFor();
    await dialog.waitFor({ state: "detached" });
    assert.equal(await connection.inputValue(), "Contacts");
    await saved();
    const made = (await (await call("GET", "/connections?search=Contacts")).json()).items[0];
    assert.equal((await configOf("fetch")).connection, made.id);
    await page.getByRole("button", { name: "Undo" }).click();
    await side.getByText(`Bearer token · ${host}`).waitFor();
    await page.getByRole("button", { name: "Redo" }).click();
    await side.getByText("OAuth 2, a person consents").waitFor();
    await examine("editor-connection");

    // What starts the workflow is made beside the graph: a schedule that says when it fires next, a call, and a hook whose address is shown once.
    tolerate(/404/); // it asks whether there is a hook
    await page.getByRole("button", { name: "Triggers", exact: true }).click();
    await side.getByText("Nothing starts it by itself yet").waitFor();
    const add = async (name, start) => {
      await side.getByRole("button", { name: "Add a trigger" }).click();
      await dialog.getByLabel("Name").fill(name);
      await dialog.getByLabel("What starts it").selectOption(start);
    };
    const create = () => dialog.getByRole("button", { name: "Create the trigger" }).click();
    const row = (name) => side.getByRole("listitem", { name });
    await add("Nightly", "schedule");
    await dialog.getByLabel("Cron").fill("x");
    await dialog.getByRole("alert").waitFor();
    await dialog.getByLabel("Cron").fill("30 2 * * *");
    await dialog.getByLabel("Time zone").fill("Europe/Berlin");
    await dialog.getByRole("table", { name: "Next times" }).waitFor();
    await create();
    await row("Nightly").getByText(/^Next: .*02:30/).waitFor();
    await add("Orders", "call");
    await create();
    await page.getByRole("dialog", { name: "The address of Orders" }).waitFor();
    await examine("editor-trigger-address");
    await dialog.getByRole("button", { name: "Copy the address" }).click();
    const address = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(address, /\/v1\/gateway\/triggers\/trg_\w+\/webhook$/);
    await dialog.getByRole("button", { name: "Done" }).click();
    await add("Pushes", "hook");
    await create();
    await page.getByRole("dialog", { name: "Create a hook" }).waitFor();
    await dialog.getByLabel("The sender's signing secret").fill("a secret of GitHub");
    await dialog.getByRole("button", { name: "Create the hook" }).click();
    const hookUrl = await page.getByRole("dialog", { name: "The hook's address" }).locator("code").innerText();
    assert.equal((await fetch(hookUrl, { method: "POST", body: "{}" })).status, 401);
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await row("Pushes").getByText("GitHub").waitFor();
    assert.equal(await row("Pushes").getByRole("button", { name: /^Copy the address/ }).count(), 0, "a hook's address is shown once");
    assert.ok(!(await page.content()).includes(hookUrl));
    await side.getByText("They start nothing before the workflow is published").waitFor();
    await row("Nightly").getByRole("button", { name: "Actions for Nightly" }).click();
    await page.getByRole("menuitem", { name: "Edit", exact: true }).click();
    assert.equal(await dialog.getByLabel("Cron").inputValue(), "30 2 * * *");
    await dialog.getByLabel("Cron").fill("45 2 * * *");
    await dialog.getByRole("button", { name: "Save" }).click();
    await row("Nightly").getByText(/^Next: .*02:45/).waitFor();
    await row("Orders").getByRole("button", { name: "Actions for Orders" }).click();
    await page.getByRole("menuitem", { name: "Switch off" }).click();
    await row("Orders").getByText("Off", { exact: true }).waitFor();
    // A hook that is switched off, or was made for a call, is shown as such.
    const pushes = (await (await call("GET", `/triggers?workflowId=${workflow.id}`)).json()).items.find(({ name }) => name === "Pushes");
    assert.equal((await call("PATCH", `/triggers/${pushes.id}/hook`, { isActive: false })).status, 200);
    await row("Pushes").getByRole("button", { name: "Actions for Pushes" }).click();
    await page.getByRole("menuitem", { name: "Edit the hook" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await row("Pushes").getByText("Off", { exact: true }).waitFor();
    await row("Orders").getByRole("button", { name: "Actions for Orders" }).click();
    await page.getByRole("menuitem", { name: "Create a hook" }).click();
    await dialog.getByLabel("The sender's signing secret").fill("a secret of GitHub");
    await dialog.getByRole("button", { name: "Create the hook" }).click();
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await row("Orders").getByText("A hook").waitFor();
    await examine("editor-triggers");
    const triggers = (await (await call("GET", `/triggers?workflowId=${workflow.id}`)).json()).items;
    assert.deepEqual(triggers.map(({ name, type, isActive, workflowVersionId }) => [name, type, isActive, workflowVersionId]).sort(), [
      ["Nightly", "schedule", true, version.id],
      ["Orders", "webhook", false, version.id],
      ["Pushes", "webhook", true, version.id],
    ]);

    // The form for an approval is built without a line of JSON, each step of it can be taken back, and people see what was built.
    await show("ask");
    const field = (name) => side.getByRole("listitem", { name, exact: true });
    const addField = async (title) => {
      await side.getByRole("button", { name: "Add a field" }).click();
      await side.getByLabel("Title", { exact: true }).last().and(page.locator(":focus")).waitFor();
      await page.keyboard.type(title);
    };
    const preview = side.getByRole("region", { name: "Preview" });
    await preview.getByText("Your answer").waitFor();
    await addField("Approve it?");
    assert.equal(await side.getByLabel("Name in expressions").inputValue(), "approveIt");
    await field("Approve it?").getByLabel("Kind").selectOption("yesno");
    await field("Approve it?").getByLabel("It must be filled in").check();
    await addField("Shipping");
    await field("Shipping").getByLabel("Kind").selectOption("choice");
    for (const [at, [value, label]] of [["air", "By air"], ["sea", ""]].entries()) {
      await field("Shipping").getByRole("button", { name: "Add a choice" }).click();
      await field("Shipping").getByLabel(`Value ${at + 1}`).fill(value);
      if (label) await field("Shipping").getByLabel(`What people read for ${value}`).fill(label);
    }
    await addField("Comment");
    await field("Comment").getByLabel("Kind").selectOption("long");
    await field("Comment").getByLabel("Help").fill("For the customer");
    await field("Comment").getByRole("button", { name: "Move Comment up" }).click();
    assert.deepEqual(await side.getByRole("button", { name: /^Move .* up$/ }).evaluateAll((all) => all.map((one) => one.getAttribute("aria-label"))), ["Move Approve it? up", "Move Comment up", "Move Shipping up"]);
    await page.keyboard.press("Enter"); // the button moves with its field, and keeps the focus
    await field("Comment").getByRole("button", { name: "Move Comment up" }).and(page.locator(":disabled")).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await field("Comment").getByLabel("Name in expressions").fill("shipping");
    await field("Comment").getByText("Another field has this name").waitFor();
    await field("Comment").getByLabel("Name in expressions").fill("note");
    await page.keyboard.press("Tab");
    await preview.getByText("For the customer").waitFor();
    await preview.getByText("(required)").waitFor();
    await examine("editor-form");
    await saved();
    const form = {
      approveIt: { type: "boolean", title: "Approve it?", required: true, order: 1 },
      note: { type: "string", widget: "textarea", title: "Comment", description: "For the customer", order: 2 },
      shipping: { type: "enum", title: "Shipping", enum: ["air", "sea"], enumLabels: ["By air", "sea"], order: 3 },
    };
    assert.deepEqual((await configOf("ask")).form, form);
    await field("Comment").getByRole("button", { name: "Take away Comment" }).click();
    await field("Comment").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo" }).click();
    await field("Comment").waitFor();
    await saved();
    assert.deepEqual((await configOf("ask")).form, form);
  } finally {
    others.close();
    others.closeAllConnections();
  }
};
