// What waits for people: a question with a form and one with yes and no are found, answered wrongly and rightly, and come and go by themselves.
export default async ({ page, assert, call, examine, open, tolerate }) => {
  const ask = async (name, config) => {
    const made = async (path, body) => (await call("POST", path, body)).json();
    const workflow = await made("/workflows", { name });
    const version = await made("/workflow-versions", { workflowId: workflow.id, nodes: [{ id: "ask", type: "input", version: "1.1.0", name: "Ask", config }], edges: [] });
    assert.equal((await call("POST", `/workflow-versions/${version.id}/publish`)).status, 200);
    const start = async (entityId) => assert.equal((await call("POST", `/workflows/${workflow.id}/runs`, { entityId, eventData: {} })).status, 201);
    return { workflow, start };
  };
  const row = (text) => page.getByRole("table", { name: "Questions" }).getByRole("row", { name: text });

  await open("questions");
  await page.getByText("Nothing waits for people").waitFor();
  await examine("questions-empty");
  const order = await ask("Approve an order", { title: "Large order", prompt: "Approve this order of <b>1250</b>?", inputType: "boolean", required: true, assignee: "anna@example.com", timeoutMs: 1_800_000 });
  await order.start("order-1");
  await row("order-1").waitFor(); // it comes by itself
  const review = await ask("Review a text", {
    prompt: "What do you think of it?",
    form: {
      rating: { type: "number", required: true, max: 5, title: "Rating", order: 1 },
      size: { type: "enum", enum: ["s", "l"], enumLabels: ["Small", "Large"], title: "Size", order: 2 },
      note: { type: "string", widget: "textarea", title: "Note", order: 3 },
    },
  });
  await review.start("text-1");
  await row("text-1").waitFor();
  await examine("questions");

  await page.getByRole("searchbox", { name: "Assigned to (the whole address)" }).fill("anna@example.com");
  await row("text-1").waitFor({ state: "detached" });
  await row("order-1").getByText("anna@example.com").waitFor();
  await open(`questions?workflowId=${review.workflow.id}`);
  await row("text-1").waitFor();
  assert.equal(await page.getByRole("table", { name: "Questions" }).getByRole("row").count(), 2);

  await page.getByRole("button", { name: "Answer What do you think of it?" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Rating").fill("9");
  await dialog.getByLabel("Size").selectOption({ label: "Large" });
  await dialog.getByLabel("Note").fill("Good");
  tolerate(/400/);
  await dialog.getByRole("button", { name: "Answer" }).click();
  await dialog.getByLabel("Rating").and(page.locator("[aria-invalid=true]")).waitFor();
  await examine("answer-form");
  await dialog.getByLabel("Rating").fill("5");
  await dialog.getByRole("button", { name: "Answer" }).click();
  await page.getByText("The run goes on with your answer").waitFor();
  await page.getByText("Nothing fits these filters").waitFor();

  await open("questions");
  await page.getByRole("button", { name: "Answer Large order" }).click();
  await page.getByText("Approve this order of <b>1250</b>?").last().waitFor();
  await examine("answer-yes-no");
  await dialog.getByRole("button", { name: "Yes" }).click();
  await page.getByText("Nothing waits for people").waitFor();
  for (const [entity, want] of [["order-1", { value: true }], ["text-1", { rating: 5, size: "l", note: "Good" }]]) {
    const { items } = await (await call("GET", `/runs?entityId=${entity}`)).json();
    let run;
    for (let tries = 0; tries < 50 && run?.status !== "completed"; tries++) {
      run = await (await call("GET", `/runs/${items[0].id}`)).json();
      await new Promise((done) => setTimeout(done, 100));
    }
    assert.equal(run.status, "completed");
    const given = JSON.stringify(run.nodes ?? run);
    for (const [key, value] of Object.entries(want)) assert.ok(given.includes(`${JSON.stringify(key)}:${JSON.stringify(value)}`), `${key} of ${entity} in ${given}`);
  }
};
