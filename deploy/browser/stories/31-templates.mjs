// Somebody begins with a template, and exports what was made of it.
import { readFileSync } from "node:fs";

export default async ({ page, assert, examine, open, call }) => {
  // A template is found, filled in and begun with; what is not chosen yet is said.
  await open("workflows");
  await page.getByRole("main").getByRole("button", { name: "Create a workflow" }).first().click();
  await page.getByRole("searchbox", { name: "Search templates" }).fill("monday");
  await page.getByRole("radio", { name: "Monday report" }).check();
  await page.getByLabel("Where your API is.").fill("https://shop.example.org");
  await examine("create-from-template");
  assert.equal(await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).inputValue(), "Monday report");
  await page.getByRole("button", { name: "Create the workflow" }).click();
  await page.getByRole("heading", { name: "Monday report" }).waitFor();
  await page.getByText("To be chosen before it is published: Our API").waitFor();
  const begun = page.url().split("/").at(-1);
  const [draft] = (await (await call("GET", `/workflow-versions?workflowId=${begun}`)).json()).items;
  assert.equal(draft.nodes.find(({ id }) => id === "customers").config.url, "https://shop.example.org/customers");
  assert.match(draft.nodes.find(({ id }) => id === "report").config.source, /\n/);
  const { items: triggers } = await (await call("GET", `/triggers?workflowVersionId=${draft.id}`)).json();
  assert.deepEqual(triggers.map(({ name }) => name), ["Monday morning"]);
  const again = page.waitForEvent("download");
  await page.getByRole("main").getByRole("button", { name: /^Actions for/ }).first().click();
  await page.getByRole("menuitem", { name: "Export as JSON" }).click();
  const written = JSON.parse(readFileSync(await (await again).path(), "utf8"));
  assert.deepEqual([written.draft, written.triggers[0].name, written.nodes.length], [true, "Monday morning", 6]);
};
