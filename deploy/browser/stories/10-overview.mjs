// A newcomer comes in by the link of sluice dev, sees the example workflow and runs it without a terminal.
export default async ({ page, assert, examine, open, weighFirstView }) => {
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await page.getByText("Nothing has run in the last 24 hours").waitFor();
  await weighFirstView();
  await examine("overview");

  await page.getByRole("link", { name: "Workflows" }).first().click();
  await page.getByRole("link", { name: "Example: notice large orders" }).click();
  await page.getByRole("heading", { name: "Example: notice large orders" }).waitFor();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByLabel("Event, as JSON").fill("{");
  await page.getByRole("button", { name: "Start the run" }).click();
  await page.getByText("This must be JSON").waitFor();
  await examine("start-run");
  await page.getByLabel("Event, as JSON").fill('{"id": "order-7", "amount": 1250}');
  await page.getByRole("button", { name: "Start the run" }).click();
  await page.waitForURL(/\/runs\/run_/);

  // What the list of the overview links to, and what no page has.
  await open("nothing-of-this-name");
  await page.getByText("There is nothing here").waitFor();
  assert.equal(await page.title(), "There is nothing here · Sluice");
};
