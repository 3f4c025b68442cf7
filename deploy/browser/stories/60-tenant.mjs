// The tenant's own things: its usage, sub-tenants with their embed tokens, settings, and the audit log that says who did all this.
import { readFileSync } from "node:fs";

export default async ({ page, assert, call, examine, open, tolerate }) => {
  await open("usage");
  await page.getByRole("table", { name: "Usage" }).getByRole("row").nth(1).waitFor();
  await examine("usage");
  await open("sub-tenants");
  await page.getByText("No sub-tenant is registered yet").waitFor();
  await page.keyboard.press("c");
  tolerate(/400/);
  await page.getByRole("button", { name: "Register", exact: true }).click();
  await page.getByRole("dialog").getByLabel("Name").and(page.locator("[aria-invalid=true]")).waitFor();
  await page.getByRole("dialog").getByLabel("Name").fill("Customer 42");
  await page.getByRole("dialog").getByRole("textbox", { name: "Identifier" }).fill("customer-42");
  await page.getByRole("button", { name: "Add a pair" }).click();
  await page.getByLabel("Key").fill("plan");
  await page.getByLabel("Value").fill("gold");
  await examine("register-sub-tenant");
  await page.getByRole("button", { name: "Register", exact: true }).click();
  await page.getByRole("row", { name: /plan=gold/ }).waitFor();
  await examine("sub-tenants");
  const token = await (await call("POST", "/embed-tokens", { subTenantId: "customer-42", preset: "viewer", subject: "anna" })).json();
  const reads = async () => (await call("GET", "/workflows", undefined, token.token)).status;
  assert.equal(await reads(), 200);
  await page.getByRole("link", { name: "Customer 42" }).click();
  await page.getByRole("table", { name: "Embed tokens" }).getByText("anna").waitFor();
  await examine("sub-tenant");
  await page.getByRole("button", { name: `Revoke the token …${token.lastFour}` }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("table", { name: "Embed tokens" }).getByText("Ended").waitFor();
  assert.equal(await reads(), 401);
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("dialog").getByLabel("Description").fill("Pays early");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("main").getByText("Pays early").waitFor();

  // Everything about it is erased, and the job says what went.
  await page.getByRole("link", { name: "Erase its data" }).click();
  await page.getByRole("dialog").getByLabel("Identifier").waitFor();
  await examine("erase-data");
  await page.getByRole("dialog").getByLabel("What it is about").selectOption("entityId");
  await page.getByRole("dialog").getByLabel("Identifier").fill("order-of-anna");
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByRole("alertdialog").getByRole("textbox").fill("order-of-anna");
  await page.getByRole("button", { name: "Erase it for good" }).click();
  await page.getByRole("row", { name: /Erase data Completed 0 runs/ }).waitFor();
  await examine("jobs");
  await page.goBack();
  await page.getByRole("button", { name: "Delete" }).click();
  await examine("delete-sub-tenant");
  await page.getByRole("button", { name: "Delete the registration" }).click();
  await page.getByText("No sub-tenant is registered yet").waitFor();

  await open("settings");
  const endpoint = page.getByLabel("Endpoint of custom nodes");
  await endpoint.fill("no address");
  await page.getByRole("button", { name: "Save the settings" }).click();
  await endpoint.and(page.locator("[aria-invalid=true]")).waitFor();
  await endpoint.fill("");
  await page.getByLabel("Names of events").fill("order.paid An order was paid\norder.sent");
  await page.getByLabel("Language of the node registry").selectOption("es");
  await page.getByRole("checkbox", { name: /^Leave out/ }).first().check();
  await page.getByRole("button", { name: "Add an origin" }).click();
  await page.getByRole("button", { name: "Add an origin" }).click(); // stays empty, and is not sent
  await page.getByRole("button", { name: "Add an origin" }).click();
  await page.getByLabel("Origin 1", { exact: true }).fill("https://app.example.com");
  await page.getByLabel("Origin 3", { exact: true }).fill("https://app.example.com/");
  await page.getByRole("button", { name: "Save the settings" }).click();
  await page.getByLabel("Origin 3", { exact: true }).and(page.locator("[aria-invalid=true]")).waitFor();
  await page.getByText(/must be an origin as browsers send it/).waitFor();
  await page.getByLabel("Origin 3", { exact: true }).fill("http://localhost:3000");
  await examine("settings");
  await page.getByRole("button", { name: "Save the settings" }).click();
  await page.getByText("The settings were saved").waitFor();
  const { language, events, disabledNodeTypes, embed } = await (await call("GET", "/settings")).json();
  assert.deepEqual([language, events, disabledNodeTypes.length], ["es", [{ name: "order.paid", label: "An order was paid" }, { name: "order.sent" }], 1]);
  assert.deepEqual(embed.origins, ["https://app.example.com", "http://localhost:3000"]);
  await call("PATCH", "/settings", { language: "en", events: [], disabledNodeTypes: [], embed: { origins: [] } });

  await open("audit-log");
  const log = page.getByRole("table", { name: "Audit log" });
  await log.getByRole("row", { name: /deleteSubTenant/ }).getByText("demo@example.com").waitFor();
  await examine("audit-log");
  await log.getByRole("button", { name: "changeSubTenant", exact: true }).click();
  await log.getByText("deleteSubTenant").waitFor({ state: "detached" });
  await log.getByRole("button", { name: /^Show changeSubTenant/ }).click();
  await page.getByRole("table", { name: "What changed" }).getByText("Pays early").waitFor();
  await examine("audit-entry");
  await page.keyboard.press("Escape");
  for (const [format, item, first] of [["csv", "CSV", /^at,id,/], ["jsonl", "Lines of JSON", /^\{"id":"aud_/]]) {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menuitem", { name: item }).click();
    const file = await download;
    assert.equal(file.suggestedFilename().split(".").at(-1), format);
    const text = readFileSync(await file.path(), "utf8");
    assert.match(text, first);
    assert.ok(text.includes("changeSubTenant") && !text.includes("deleteSubTenant"), "the export is filtered as the list");
  }
};
