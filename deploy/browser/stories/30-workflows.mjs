// Somebody makes, finds, describes, exports, imports, duplicates and deletes workflows.
import { readFileSync } from "node:fs";

export default async ({ page, assert, examine, open, call, tolerate }) => {
  await open("workflows");
  await page.getByRole("link", { name: "Example: notice large orders" }).waitFor();
  await examine("workflows");

  await page.keyboard.press("c");
  tolerate(/400/);
  await page.getByRole("button", { name: "Create the workflow" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).and(page.locator("[aria-invalid=true]")).waitFor();
  await examine("create-workflow");
  await page.getByRole("dialog").getByLabel("Name").fill("Ship it <b>now</b>");
  await page.getByRole("dialog").getByLabel("Description").fill("Text is text");
  await page.getByRole("button", { name: "Create the workflow" }).click();
  await page.getByRole("heading", { name: "Ship it <b>now</b>" }).waitFor();

  const act = async (name) => {
    await page.getByRole("main").getByRole("button", { name: /^Actions for/ }).first().click();
    await page.getByRole("menuitem", { name }).click();
  };
  await act("Edit name and metadata");
  await page.getByRole("button", { name: "Add a pair" }).click();
  await page.getByLabel("Key").fill("team");
  await page.getByLabel("Value").fill("billing");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("billing").waitFor();
  await act("Switch off");
  await page.getByText("Off: no trigger starts it").waitFor();
  await examine("workflow-empty");

  // Filters stand in the address, so that a link shows the same.
  await open("workflows?search=ship&isActive=false");
  await page.getByRole("link", { name: "Ship it" }).waitFor();
  assert.equal(await page.getByRole("row").count(), 2);
  await page.getByRole("searchbox").fill("nothing like it");
  await page.getByText("Nothing fits these filters").waitFor();
  assert.match(page.url(), /search=nothing\+like\+it/);

  await open("workflows");
  await page.getByRole("link", { name: "Example: notice large orders" }).click();
  await page.getByRole("table", { name: "Versions" }).getByText("Active").waitFor();
  await examine("workflow");
  tolerate(/404/); // a trigger without a hook
  const download = page.waitForEvent("download");
  await act("Export as JSON");
  const file = await (await download).path();
  const exported = JSON.parse(readFileSync(file, "utf8"));
  assert.deepEqual([exported.name, exported.nodes.length, exported.edges.length], ["Example: notice large orders", 3, 2]);
  await act("Duplicate");
  await page.getByRole("heading", { name: "Copy of Example: notice large orders" }).waitFor();
  await page.getByRole("table", { name: "Versions" }).getByText("Draft").waitFor();
  await page.getByRole("button", { name: "Publish version 1" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Publish the version" }).click();
  await page.getByRole("table", { name: "Versions" }).getByText("Active").waitFor();

  await open("workflows");
  await page.getByLabel("A workflow as JSON").setInputFiles({ name: "shop.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify({ ...exported, name: "Imported" })) });
  await page.getByRole("heading", { name: "Imported" }).waitFor();
  const imported = page.url().split("/").at(-1);
  const { items } = await (await call("GET", `/workflow-versions?workflowId=${imported}`)).json();
  assert.equal(items[0].nodes.length, 3);
  await act("Delete");
  await page.getByRole("alertdialog").getByText("1 versions").waitFor();
  await page.getByRole("alertdialog").getByRole("textbox").fill("Imported");
  await examine("delete-workflow");
  await page.getByRole("button", { name: "Delete the workflow" }).click();
  await page.waitForURL(/\/workflows$/);
  assert.equal((await call("GET", `/workflows/${imported}`)).status, 404);
};
