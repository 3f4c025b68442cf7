// Somebody makes a key, rotates it at once and with grace, and revokes it. The old key is refused while the page still shows the new one.
export default async ({ page, assert, examine, open, call }) => {
  const shown = async () => {
    const dialog = page.getByRole("dialog", { name: "The new key" });
    await dialog.waitFor();
    const text = await dialog.locator("code").first().innerText();
    assert.match(text, /^sk_\w+$/);
    return text;
  };
  const status = async (key) => (await call("GET", "/workflows", undefined, key)).status;
  const act = async (lastFour, action) => {
    await page.getByRole("button", { name: `Actions for the key …${lastFour}` }).click();
    await page.getByRole("menuitem", { name: action }).click();
  };

  await open("keys");
  await page.getByRole("table", { name: "API keys" }).waitFor();
  await examine("keys");
  await page.keyboard.press("c");
  await page.getByLabel("Name").fill("Shop backend");
  await examine("create-key");
  await page.getByRole("button", { name: "Create the key" }).click();
  const first = await shown();
  await examine("new-key");
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), first);
  assert.equal(await status(first), 200);
  await page.getByRole("button", { name: "I have copied it" }).click();

  await act(first.slice(-4), "Rotate");
  await page.getByLabel("The old key ends").selectOption({ label: "at once" });
  await page.getByRole("button", { name: "Rotate the key" }).click();
  const second = await shown();
  assert.equal(await status(first), 401);
  await page.getByText("is refused from now on").waitFor();
  assert.equal(await status(second), 200);
  await page.getByRole("button", { name: "I have copied it" }).click();

  await act(second.slice(-4), "Rotate");
  await page.getByLabel("The old key ends").selectOption({ label: "in 15 minutes" });
  await page.getByRole("button", { name: "Rotate the key" }).click();
  const third = await shown();
  assert.equal(await status(second), 200);
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("row", { name: second.slice(-4) }).getByText(/Ends in/).waitFor();

  await act(third.slice(-4), "Revoke");
  await page.getByRole("alertdialog").getByText("is refused from then on").waitFor();
  await examine("revoke-key");
  await page.getByRole("button", { name: "Revoke the key" }).click();
  await page.getByRole("row", { name: third.slice(-4) }).getByText("Ended").waitFor();
  assert.equal(await status(third), 401);
};
