// What surrounds the pages: keys, the palette, languages, appearance, a gateway that restarts, and signing out, which comes last.
export default async ({ page, assert, examine, open, restartGateway, tolerate, call }) => {
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Shortcuts" }).getByText("Workflows").waitFor();
  await examine("shortcuts");
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find and do" }).fill("api");
  await examine("palette");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "API keys", level: 1 }).waitFor();

  const choose = async (item) => {
    await page.getByRole("button", { name: /^(Account|Conta|Cuenta):/ }).click();
    await page.getByRole("menuitemcheckbox", { name: item, exact: true }).click();
  };
  await choose("Português");
  await page.getByRole("heading", { name: "Chaves de API" }).waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "pt-BR");
  await page.reload();
  await page.getByRole("heading", { name: "Chaves de API" }).waitFor();
  await examine("keys-pt");
  await choose("Español");
  await page.getByRole("heading", { name: "Claves de API" }).waitFor();
  await examine("keys-es");
  await choose("English");
  await choose("Dark");
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await choose("As the system");

  // A gateway that restarts is noticed, and what changes afterwards is shown without reloading.
  tolerate(/Failed to load resource|ERR_/);
  await open("workflows");
  await page.getByRole("link", { name: "Example: notice large orders" }).click();
  await page.getByRole("heading", { name: "Last runs" }).waitFor();
  const { items } = await (await call("GET", "/workflows?search=example&limit=1")).json();
  const second = await page.context().newPage(); // it is told by the first, and opens no stream
  const opened = [];
  second.on("request", (request) => opened.push(new URL(request.url()).pathname));
  await second.goto(page.url());
  const lastRuns = second.getByRole("table", { name: "Last runs" });
  await lastRuns.getByRole("link").first().or(second.getByText("It has not run yet")).waitFor(); // what comes now, the stream says
  await call("POST", `/workflows/${items[0].id}/runs`, { entityId: "in-two-tabs", eventData: { amount: 1 } });
  for (const tab of [page, second]) await tab.getByRole("link", { name: "in-two-tabs" }).waitFor();
  assert.deepEqual(opened.filter((path) => path.endsWith("/stream")), []);
  // The second one reads it itself as soon as the first is gone.
  const address = page.url();
  await page.goto("about:blank");
  await call("POST", `/workflows/${items[0].id}/runs`, { entityId: "in-the-tab-that-stays", eventData: { amount: 1 } });
  await lastRuns.getByRole("link", { name: "in-the-tab-that-stays" }).waitFor();
  await page.goto(address);
  await page.getByRole("link", { name: "in-the-tab-that-stays" }).waitFor();
  await second.close();
  await restartGateway();
  await call("POST", `/workflows/${items[0].id}/runs`, { entityId: "after-the-restart", eventData: { amount: 1 } });
  await page.getByRole("link", { name: "after-the-restart" }).waitFor();

  await page.getByRole("button", { name: /^Account:/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await open("keys"); // who is signed out comes to the sign-in, and it knows where to go then
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.match(page.url(), /\?next=%2Ft%2Ftenant_\w+%2Fkeys$/);
};
