// In a page of another product, too, what a workflow needs is made without leaving the editor, as far as the token permits it.
import { createServer } from "node:http";
import { serve } from "../../examples/embed/server.mjs";

/** An authorization server, which consents at once. */
const consenting = createServer((request, response) => {
  const url = new URL(request.url, `http://${request.headers.host}`);
  if (url.pathname !== "/authorize") return response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ access_token: "at-1", token_type: "Bearer", expires_in: 3600 }));
  const back = new URL(url.searchParams.get("redirect_uri"));
  back.searchParams.set("state", url.searchParams.get("state"));
  back.searchParams.set("code", "a-code");
  return response.writeHead(302, { Location: back.href }).end();
});

const node = (id, type, version, config, y = 0) => ({ id, type, version, name: id, config, position: { x: 0, y } });

/** What this is about happens in the browser, whatever the database. */
export const ofTheBrowser = true;

export default async (story) => {
  await new Promise((listening) => consenting.listen(0, "127.0.0.1", listening));
  const product = await serve({ gateway: story.url.replace("localhost", "127.0.0.1"), secretKey: story.key });
  await make(story, product).finally(() => {
    product.close();
    consenting.close();
    consenting.closeAllConnections();
  });
};

async function make({ assert, call, examine, otherPage, tolerate }, product) {
  const host = `127.0.0.1:${consenting.address().port}`;
  assert.equal((await call("PATCH", "/settings", { embed: { origins: [product.url] } })).status, 200);
  const page = await otherPage();
  await page.goto(product.url);
  const workflowId = await page.locator("sluice-editor").getAttribute("workflow-id");
  const nodes = [node("fetch", "httpRequest", "1.1.0", { url: `http://${host}/contacts` }), node("ask", "input", "1.1.0", { title: "Order {{ payload.id }}" }, 160)];
  const version = await (await call("POST", "/workflow-versions", { workflowId, nodes, edges: [] })).json();
  const configOf = async (id) => (await (await call("GET", `/workflow-versions/${version.id}`)).json()).nodes.find((one) => one.id === id).config;
  const frame = page.frameLocator("sluice-editor iframe");
  const inner = () => page.frames().find((one) => one.url().includes("/embed/"));
  const side = frame.getByRole("complementary");
  const dialog = frame.getByRole("dialog");
  const saved = () => frame.getByRole("status").getByText("Saved", { exact: true }).waitFor();
  const show = (name) => frame.getByRole("region", { name: "Graph" }).locator(".react-flow__node").filter({ hasText: name }).click();

  // A connection, with consent in a window of its own.
  await page.reload();
  await show("fetch");
  await saved();
  await examine("embedded-node", inner());
  await side.getByRole("button", { name: "New connection" }).click();
  await dialog.getByLabel("Name").fill("Contacts");
  assert.equal(await dialog.getByLabel("Hosts").inputValue(), host);
  await dialog.getByLabel("Kind").selectOption("oauth2AuthorizationCode");
  await dialog.getByLabel("URL for consent").fill(`http://${host}/authorize`);
  await dialog.getByLabel("URL for tokens").fill(`http://${host}/token`);
  await dialog.getByLabel("Client ID").fill("sluice");
  await dialog.getByRole("button", { name: "Create the connection" }).click();
  await frame.getByRole("dialog", { name: "Connect Contacts" }).waitFor();
  await examine("embedded-consent", inner());
  const popup = page.context().waitForEvent("page");
  await dialog.getByRole("button", { name: "Connect", exact: true }).click();
  const consent = await popup;
  await consent.getByRole("link", { name: /^Continue to/ }).click();
  await consent.getByText("You can close this window").waitFor();
  assert.equal(await consent.evaluate(() => opener), null, "the window has no hold of the product's page");
  await consent.close();
  await dialog.waitFor({ state: "detached" });
  await saved();
  const [made] = (await (await call("GET", "/connections?search=Contacts")).json()).items;
  assert.deepEqual([(await configOf("fetch")).connection, made.subTenantId], [made.id, "customer-42"]);

  // A trigger with a hook, whose address is shown once.
  tolerate(/404/); // it asks whether there is a hook
  await frame.getByRole("button", { name: "Triggers", exact: true }).click();
  await side.getByRole("button", { name: "Add a trigger" }).click();
  await dialog.getByLabel("Name").fill("Pushes");
  await dialog.getByLabel("What starts it").selectOption("hook");
  await dialog.getByRole("button", { name: "Create the trigger" }).click();
  await dialog.getByLabel("The sender's signing secret").fill("a secret of GitHub");
  await dialog.getByRole("button", { name: "Create the hook" }).click();
  const hook = await frame.getByRole("dialog", { name: "The hook's address" }).locator("code").innerText();
  assert.equal((await fetch(hook, { method: "POST", body: "{}" })).status, 401);
  await dialog.getByRole("button", { name: "I have copied it" }).click();
  await side.getByRole("listitem", { name: "Pushes" }).getByText("GitHub").waitFor();
  await examine("embedded-triggers", inner());

  // A form for a person.
  await show("ask");
  await side.getByRole("button", { name: "Add a field" }).click();
  await side.getByLabel("Title", { exact: true }).and(frame.locator(":focus")).waitFor();
  await page.keyboard.type("Approve it?");
  await side.getByRole("listitem", { name: "Approve it?", exact: true }).getByLabel("Kind").selectOption("yesno");
  await side.getByRole("region", { name: "Preview" }).getByText("Approve it?").waitFor();
  await saved();
  assert.deepEqual((await configOf("ask")).form, { approveIt: { type: "boolean", title: "Approve it?", order: 1 } });
  await examine("embedded-form", inner());

  // Whoever may only read connections and triggers sees them and makes none, in the page as at the API.
  const refused = async (path, body) => {
    const { token } = await page.evaluate(() => document.querySelector("sluice-editor").getToken());
    return (await call("POST", path, body, token)).status;
  };
  const connection = { name: "Mine", kind: "bearer", hosts: [host], secret: { token: "x" }, subTenantId: "customer-42" };
  const trigger = { workflowVersionId: version.id, name: "Mine", type: "webhook", config: {} };
  product.options.access = { permissions: ["workflows:write", "triggers:read", "connections:read"] };
  await page.reload();
  await show("fetch");
  await side.getByText(`OAuth 2, a person consents · ${host}`).waitFor();
  assert.equal(await side.getByRole("button", { name: "New connection" }).count(), 0);
  await frame.getByRole("button", { name: "Triggers", exact: true }).click();
  await side.getByRole("listitem", { name: "Pushes" }).getByText("GitHub").waitFor();
  assert.equal(await side.getByRole("button", { name: "Add a trigger" }).count(), 0);
  assert.equal(await side.getByRole("button", { name: "Actions for Pushes" }).count(), 0);
  await examine("embedded-triggers-read", inner());
  await show("ask");
  await side.getByRole("button", { name: "Add a field" }).waitFor(); // the form is a part of the workflow
  assert.deepEqual([await refused("/connections", connection), await refused("/triggers", trigger), await refused(`/connections/${made.id}/authorize`)], [403, 403, 403]);

  // Whoever may not read them either sees nothing of them.
  product.options.access = { permissions: ["workflows:write"] };
  tolerate(/403/);
  await page.reload();
  await frame.getByRole("button", { name: "Add a node", exact: true }).waitFor();
  assert.equal(await frame.getByRole("button", { name: "Triggers", exact: true }).count(), 0);
  assert.equal(await refused("/triggers", trigger), 403);

  // Whoever only reads workflows builds no forms.
  product.options.access = { preset: "viewer" };
  await page.reload();
  await show("ask");
  await side.getByRole("region", { name: "Preview" }).getByText("Approve it?").waitFor();
  assert.equal(await side.getByRole("button", { name: "Add a field" }).and(frame.locator(":enabled")).count(), 0);
  await examine("embedded-readonly", inner());
  await page.close();
}
