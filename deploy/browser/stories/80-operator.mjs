// One of the operator's people chooses a password, makes, limits, suspends and deletes a tenant, and sees the runs, the usage, the queues and the processes of all.
// Who is no operator gets nothing of it.
export default async ({ page, assert, examine, sluice, otherPage, url, call, home, tolerate }) => {
  const answerOf = (shown, path) => shown.evaluate(async (path) => (await fetch(path)).status, path);
  const started = await (await call("POST", `/workflows/${(await (await call("GET", "/workflows?limit=1")).json()).items[0].id}/runs`, { entityId: "order-1", eventData: { amount: 5 } })).json();

  tolerate(/403/);
  await page.goto(`${url}/console/operator`);
  await page.getByText("There is nothing here").waitFor();
  assert.equal(await answerOf(page, `${url}/console/api/operator/tenants`), 403);
  await page.goto(home);
  await page.getByRole("button", { name: "Tenant: Acme" }).click();
  await page.getByRole("menuitem", { name: "Demo" }).waitFor();
  assert.equal(await page.getByRole("menuitem", { name: "Operator" }).count(), 0);

  const { link } = await sluice("user", "create", "--email", "root@example.com", "--name", "Rita Root", "--operator");
  const shown = await otherPage();
  await shown.goto(link);
  await shown.getByLabel("Password", { exact: false }).first().fill("correct horse battery");
  await examine("choose-password", shown);
  await shown.getByRole("button").last().click();
  await shown.getByRole("heading", { name: "Tenants", level: 1 }).waitFor();
  const dialog = shown.getByRole("dialog");
  await shown.getByRole("link", { name: "Demo" }).waitFor();
  await examine("operator-tenants", shown);

  await shown.keyboard.press("c");
  await dialog.getByLabel("Name").fill("Umbrella");
  await shown.getByRole("button", { name: "Create the tenant" }).click();
  await dialog.getByText("To let people in").waitFor();
  const key = await dialog.locator("code").first().innerText();
  const status = async () => (await call("GET", "/workflows", undefined, key)).status;
  // The status that a request with the tenant's key comes to within five seconds, where it comes to it.
  const until = async (expected) => {
    let found = await status();
    for (let i = 0; i < 50 && found !== expected; i++) {
      await shown.waitForTimeout(100);
      found = await status();
    }
    return found;
  };
  assert.equal(await status(), 200);
  await examine("operator-new-tenant", shown);
  await shown.getByRole("button", { name: "I have copied them" }).click();
  await shown.getByRole("link", { name: "Umbrella" }).click();
  await shown.getByRole("heading", { name: "Umbrella" }).waitFor();
  const id = new URL(shown.url()).pathname.split("/").at(-1);

  await shown.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Secret keys: requests a minute").fill("3");
  await examine("operator-edit-tenant", shown);
  await shown.getByRole("button", { name: "Save" }).click();
  await shown.getByText("3 requests a minute").waitFor();
  assert.equal(await until(429), 429);
  await shown.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Secret keys: requests a minute").fill("6000");
  await shown.getByRole("button", { name: "Save" }).click();
  await shown.getByText("6000 requests a minute").waitFor();
  assert.equal(await until(200), 200);
  await shown.getByRole("button", { name: "Suspend" }).click();
  await examine("operator-suspend", shown);
  await shown.getByRole("button", { name: "Suspend the tenant" }).click();
  await shown.getByText("Suspended").waitFor();
  assert.equal(await until(401), 401);
  await shown.getByRole("button", { name: "Resume" }).click();
  await shown.getByText("Umbrella is active again").waitFor();
  assert.equal(await until(200), 200);
  await examine("operator-tenant", shown);

  await shown.getByRole("link", { name: "All runs" }).click();
  await shown.getByRole("table", { name: "All runs" }).getByText(started.id).waitFor();
  await examine("operator-runs", shown);
  await shown.getByRole("searchbox", { name: "Tenant: identifier" }).fill(id);
  await shown.getByText("Nothing fits these filters").waitFor();
  await shown.getByRole("link", { name: "Usage" }).click();
  await shown.getByRole("table", { name: "Usage" }).getByRole("link", { name: "Umbrella" }).waitFor();
  await examine("operator-usage", shown);
  await shown.getByRole("link", { name: "Queues" }).click();
  for (const queue of ["Runs", "Events", "Deliveries"]) {
    await shown.getByRole("table", { name: "Queues" }).getByRole("row", { name: queue }).getByText("None waits").waitFor();
  }
  await examine("operator-queues", shown);
  await shown.getByRole("link", { name: "Processes" }).click();
  await shown.getByRole("table", { name: "Processes" }).getByRole("row").nth(1).waitFor();
  await examine("operator-processes", shown);

  await shown.goto(`${url}/console/operator/tenants/${id}`);
  await shown.getByRole("button", { name: "Delete" }).click();
  const confirm = shown.getByRole("alertdialog");
  await confirm.getByRole("textbox").fill("Umbrella");
  await examine("operator-delete-tenant", shown);
  await shown.getByRole("button", { name: "Delete the tenant" }).click();
  await shown.getByRole("heading", { name: "Tenants", level: 1 }).waitFor();
  await shown.getByRole("link", { name: "Umbrella" }).waitFor({ state: "detached" });
  assert.equal(await until(401), 401);

  // Without a membership the operator sees no tenant's own pages.
  await shown.goto(home);
  await shown.getByText("There is nothing here").waitFor();
  await shown.context().close();
};
