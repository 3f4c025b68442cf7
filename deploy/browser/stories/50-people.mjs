// An admin invites somebody, changes the role and removes the member; the last admin stays. Then their own account: sessions.
export default async ({ page, assert, examine, open, tolerate, url }) => {
  const act = async (email, action) => {
    await page.getByRole("button", { name: `Actions for ${email}` }).click();
    await page.getByRole("menuitem", { name: action }).click();
  };
  await open("members");
  await page.getByRole("table", { name: "Members" }).getByText("(you)").waitFor();
  const me = (await page.getByRole("row", { name: /\(you\)/ }).getByRole("button").getAttribute("aria-label")).replace("Actions for ", "");
  await page.keyboard.press("c");
  tolerate(/400|409/);
  await page.getByLabel("Email").fill("nobody");
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  await page.getByLabel("Email").and(page.locator("[aria-invalid=true]")).waitFor();
  await examine("invite");
  await page.getByLabel("Email").fill("ben@example.com");
  await page.getByLabel("Role").selectOption("editor");
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  const link = await page.getByRole("dialog").locator("[data-shown-once] code").innerText();
  assert.match(link, /\/console\/l\/[\w-]+/);
  await examine("invitation");
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("row", { name: /ben@example.com/ }).getByText("Invited").waitFor();
  await examine("members");

  await act("ben@example.com", "Change the role");
  await page.getByLabel("Role").selectOption("approver");
  await page.getByRole("button", { name: "Change the role" }).click();
  await page.getByRole("row", { name: /ben@example.com/ }).getByText("Approver").waitFor();
  await act(me, "Change the role");
  await page.getByLabel("Role").selectOption("viewer");
  await page.getByRole("button", { name: "Change the role" }).click();
  await page.getByRole("alert").getByText("last_admin").waitFor();
  await page.keyboard.press("Escape");
  await act("ben@example.com", "Remove");
  await examine("remove-member");
  await page.getByRole("button", { name: "Remove the member" }).click();
  await page.getByRole("row", { name: /ben@example.com/ }).waitFor({ state: "detached" });

  await page.goto(`${url}/console/account`);
  await page.getByRole("table", { name: "Sessions" }).getByText("This one").waitFor();
  await examine("account");
};
