// Somebody makes connections, tests and rotates one, consents to another in a window of its own, and cannot delete one that is used.
import { createServer } from "node:http";

// What is called, and an authorization server in one: it consents at once, and gives a token for the code.
const others = createServer((request, response) => {
  const url = new URL(request.url, `http://${request.headers.host}`);
  if (url.pathname === "/authorize") {
    const back = new URL(url.searchParams.get("redirect_uri"));
    back.searchParams.set("state", url.searchParams.get("state"));
    back.searchParams.set("code", "a-code");
    response.writeHead(302, { Location: back.href }).end();
  } else if (url.pathname === "/token") {
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ access_token: "at-1", token_type: "Bearer", expires_in: 3600, scope: "contacts.read" }));
  } else {
    response.writeHead(request.headers.authorization === "Bearer second-token" ? 200 : 401).end();
  }
});

export default async ({ page, assert, examine, open, call, tolerate }) => {
  await new Promise((listening) => others.listen(0, "127.0.0.1", listening));
  const host = `127.0.0.1:${others.address().port}`;
  try {
    const dialog = page.getByRole("dialog");
    const act = async (name) => {
      await page.getByRole("main").getByRole("button", { name: /^Actions for/ }).click();
      await page.getByRole("menuitem", { name }).click();
    };
    await open("connections");
    await page.getByText("There are no connections yet").waitFor();
    await examine("connections-empty");

    await page.keyboard.press("c");
    tolerate(/400/);
    await dialog.getByLabel("Name").fill("CRM");
    await page.getByRole("button", { name: "Create the connection" }).click();
    await dialog.locator("[aria-invalid=true]").first().waitFor();
    await examine("create-connection");
    await dialog.getByLabel("Hosts").fill(host);
    await dialog.getByLabel("Token").fill("first-token");
    await page.getByRole("button", { name: "Create the connection" }).click();
    await page.getByRole("heading", { name: "CRM" }).waitFor();
    await page.getByText("kept, never shown").waitFor();
    const crm = page.url().split("/").at(-1);
    assert.ok(!(await page.content()).includes("first-token"));

    const test = async (answer) => {
      await page.getByRole("button", { name: "Test" }).click();
      await dialog.getByLabel("URL").fill(`http://${host}/me`);
      await page.getByRole("button", { name: "Call it" }).click();
      await dialog.getByText(answer).waitFor();
    };
    await test("It answered 401");
    await page.getByRole("button", { name: "Close" }).last().click();
    await act("Edit, or rotate the secret");
    assert.equal(await dialog.getByLabel("Token").inputValue(), "");
    await dialog.getByLabel("Token").fill("second-token");
    await examine("edit-connection");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The connection was saved").waitFor();
    await test("It answered 200");
    await examine("test-connection");
    await page.getByRole("button", { name: "Close" }).last().click();

    // Other hosts get the secret only from who has it.
    await act("Edit, or rotate the secret");
    await dialog.getByLabel("Hosts").fill("elsewhere.example.com");
    await page.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").waitFor();
    assert.deepEqual((await (await call("GET", `/connections/${crm}`)).json()).hosts, [host]);
    await page.keyboard.press("Escape");

    // What uses it is named, and it stays.
    assert.equal((await call("POST", "/webhook-endpoints", { url: `http://${host}/events`, connection: crm, isActive: false })).status, 201);
    tolerate(/409/);
    await act("Delete");
    await page.getByRole("button", { name: "Delete the connection" }).click();
    await page.getByRole("alertdialog").getByRole("link", { name: `http://${host}/events` }).waitFor();
    await examine("delete-connection");
    await page.getByRole("button", { name: "Cancel" }).click();

    await open("connections");
    await page.getByRole("link", { name: "CRM" }).waitFor();
    await page.keyboard.press("c");
    await dialog.getByLabel("Kind").selectOption("oauth2AuthorizationCode");
    await dialog.getByLabel("Name").fill("Contacts");
    await dialog.getByLabel("Hosts").fill(host);
    await dialog.getByLabel("URL for consent").fill(`http://${host}/authorize`);
    await dialog.getByLabel("URL for tokens").fill(`http://${host}/token`);
    await dialog.getByLabel("Client ID").fill("sluice");
    await dialog.getByLabel("Client secret").fill("client-secret");
    await dialog.getByLabel("Scopes").fill("contacts.read");
    await examine("create-oauth-connection");
    await page.getByRole("button", { name: "Create the connection" }).click();
    await page.getByText("A person has to consent").or(page.getByText("Nothing was asked for yet")).first().waitFor();
    const popup = page.context().waitForEvent("page");
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    const consent = await popup;
    await page.getByText("Waiting for your consent").waitFor();
    await examine("oauth-connection");
    const go = consent.getByRole("link", { name: /^Continue to/ });
    await go.waitFor();
    assert.equal(await consent.evaluate(() => window.opener), null);
    await go.click();
    await consent.getByText("You can close this window").waitFor();
    await consent.close();
    await page.getByText("Contacts is connected").waitFor();
    await page.getByText("Calls have a token").waitFor();

    await act("Delete");
    await page.getByRole("button", { name: "Delete the connection" }).click();
    await page.waitForURL(/\/connections$/);
    await page.getByRole("link", { name: "CRM" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Contacts" }).count(), 0);
    await examine("connections");
  } finally {
    others.close();
    others.closeAllConnections();
  }
};
