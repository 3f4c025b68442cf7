// A product shows its customers the editor in a page of its own, on another site, in a browser that gives frames of other sites no cookies. It is the
// example of deploy/examples/embed.
import { serve } from "../../examples/embed/server.mjs";

export default async (story) => {
  const product = await serve({ gateway: story.url.replace("localhost", "127.0.0.1"), secretKey: story.key });
  await embed(story, product).finally(product.close);
};

async function embed({ assert, call, otherPage, tolerate, url }, product) {
  // The gateway and the product are two sites.
  const gateway = url.replace("localhost", "127.0.0.1");
  const settings = (origins) => call("PATCH", "/settings", { embed: { origins } }).then((answer) => answer.json());
  const page = await otherPage();
  const touched = [];
  const addresses = [];
  const finished = []; // requests, with the cookies that were sent
  page.on("request", (request) => addresses.push(request.url()));
  page.on("requestfinished", (request) =>
    finished.push(
      request.allHeaders().then(
        ({ cookie }) => ({ address: request.url(), cookie }),
        () => undefined,
      ),
    ),
  );
  await page.exposeFunction("storageTouched", (what) => touched.push(what));
  await page.addInitScript(() => {
    if (!location.pathname.startsWith("/embed/")) return;
    // As in browsers that block what frames of other sites keep; the router reads the session's storage when it is loaded, which is no harm.
    const storage = { getItem: () => null, setItem: () => globalThis.storageTouched("sessionStorage.setItem") };
    Object.defineProperty(globalThis, "sessionStorage", { configurable: true, get: () => storage });
    for (const name of ["localStorage", "indexedDB", "caches"])
      Object.defineProperty(globalThis, name, {
        get: () => {
          globalThis.storageTouched(name);
          throw new DOMException("blocked", "SecurityError");
        },
      });
    Object.defineProperty(Document.prototype, "cookie", { get: () => globalThis.storageTouched("cookie"), set: () => globalThis.storageTouched("cookie") });
  });
  const frame = page.frameLocator("sluice-editor iframe");
  const state = page.locator("#state");
  const saved = () => frame.getByRole("status").getByText("Saved", { exact: true }).waitFor();
  const draft = async () => (await (await call("GET", `/workflow-versions?workflowId=${workflowId}`)).json()).items[0];

  // Nobody has named the page's origin: the browser does not show the frame, and nothing of it can be read.
  tolerate(/frame-ancestors|Refused to frame|404|Failed to execute 'postMessage'|does not match the recipient|chrome-error/);
  await page.goto(product.url);
  await page.waitForFunction(() => document.querySelector("sluice-editor iframe") !== null);
  const workflowId = await page.locator("sluice-editor").getAttribute("workflow-id");
  await state.getByText(/no_answer/).waitFor();
  assert.ok((await page.locator("#state").textContent()).includes("embed.origins"));
  await settings(["https://other.example.com", product.url.replace("localhost", "127.0.0.1")]);
  await page.reload();
  await state.getByText(/no_answer/).waitFor();
  const [refused, ...others] = page.frames().filter((one) => one.parentFrame());
  assert.match(await refused.evaluate(() => location.href), /^chrome-error:/, "the browser shows an error instead");
  assert.equal(others.length, 0);

  // The product gives tokens to its own pages alone, and outlives strange addresses.
  assert.equal((await fetch(`${product.url}/automation-token`, { method: "POST" })).status, 403);
  assert.equal((await fetch(`${product.url}/automation-token`)).status, 405);
  assert.equal((await fetch(`${product.url}//`)).status, 404);

  // Now it is named.
  await settings([product.url]);
  await page.reload();
  await frame.getByText("What shall happen first?").waitFor();
  await frame.getByRole("button", { name: "Add the first node" }).click();
  await frame.getByRole("searchbox", { name: "Search nodes" }).fill("transform");
  await page.keyboard.press("Enter");
  await frame.getByRole("textbox", { name: "Name", exact: true }).fill("Round it");
  await state.getByText(/^saved/).waitFor();
  assert.equal((await draft()).nodes[0].name, "Round it");
  assert.equal((await (await call("GET", `/workflows/${workflowId}`)).json()).subTenantId, "customer-42");
  assert.equal(await frame.getByRole("link").count(), 0, "no page of the console is led to");

  // What stands against publishing is said, and nothing is published; then it is, and the product hears of it.
  tolerate(/400/);
  await page.getByRole("button", { name: "Publish" }).first().click();
  await page.waitForFunction(() => /^The /.test(document.querySelector("#state").textContent));
  assert.equal((await draft()).isActive, false);
  const write = async (text) => {
    await frame.getByRole("textbox", { name: "Expression" }).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text, { delay: 20 });
    await page.keyboard.press("Escape");
  };
  await frame.locator(".cm-editor").first().waitFor();
  await write("1 + 1");
  await saved();
  await page.getByRole("button", { name: "Publish" }).first().click();
  await state.getByText(/^published/).waitFor();
  assert.equal((await draft()).isActive, true);

  // Colours, fonts, language: what is no colour is refused.
  const themed = await page.evaluate(async () => {
    const editor = document.querySelector("sluice-editor");
    const refused = [];
    for (const accent of ["url(https://example.com/a)", "red;} body{display:none", "var(--x, url(https://example.com))", 5, "image(red)"])
      await editor.setTheme({ colors: { accent } }).catch(({ message }) => refused.push(message));
    await editor.setTheme({ colors: { nothing: "red" } }).catch(({ message }) => refused.push(message));
    await editor.setTheme({ mode: "dark", colors: { accent: "#ff00aa" }, fonts: { sans: "Georgia, serif" } });
    return refused;
  });
  assert.equal(themed.length, 6, themed.join());
  const inner = page.frames().find((one) => one.url().includes("/embed/"));
  const looks = await inner.evaluate(() => {
    const style = getComputedStyle(document.documentElement);
    return [style.getPropertyValue("--accent"), style.colorScheme, style.fontFamily];
  });
  assert.deepEqual(looks, ["#ff00aa", "dark", "Georgia, serif"]);
  await page.locator("sluice-editor").evaluate((editor) => editor.setAttribute("locale", "es-MX"));
  await frame.getByRole("button", { name: "Editar", exact: true }).waitFor();
  await page.locator("sluice-editor").evaluate((editor) => editor.setAttribute("locale", "en"));

  // A token ends in the middle of an edit: another one is asked for, and nothing is lost.
  tolerate(/401/);
  const revoke = () => call("DELETE", "/embed-tokens?subTenantId=customer-42");
  await frame.getByRole("button", { name: "Edit", exact: true }).click();
  await saved();
  await frame.locator(".react-flow__node").first().click();
  const name = frame.getByRole("textbox", { name: "Name", exact: true });
  assert.equal((await revoke()).status, 204);
  await name.fill("Round it up");
  await saved();
  assert.equal((await draft()).nodes[0].name, "Round it up");

  // Whoever is signed out of the product is told so, keeps what was changed, and goes on once signed in again.
  await page.locator("sluice-editor").evaluate((editor) => {
    globalThis.told = []; // of all errors: what is shown of the last event may be of a later one
    editor.addEventListener("error", ({ detail }) => globalThis.told.push(JSON.stringify(detail)));
  });
  product.signOut();
  await revoke();
  await name.fill("Round it down");
  await frame.getByRole("alert").getByText(/Your access has ended/).waitFor();
  await page.waitForFunction(() => globalThis.told.some((one) => /not signed in any more/.test(one)));
  assert.equal(await name.inputValue(), "Round it down");
  assert.equal((await draft()).nodes[0].name, "Round it up");
  await page.context().request.get(product.url); // signs in, as in another tab
  await frame.getByRole("alert").getByRole("button", { name: "Try again" }).click();
  await saved();
  assert.equal((await draft()).nodes[0].name, "Round it down");
  await frame.getByRole("alert").waitFor({ state: "detached" });

  // Nothing may be changed for a while, and then again.
  await page.locator("sluice-editor").evaluate((editor) => editor.setReadonly(true));
  await frame.getByRole("status").getByText("Read only").waitFor();
  assert.equal(await frame.getByRole("button", { name: "Publish" }).count(), 0);
  assert.equal(await frame.locator(".react-flow__node").count(), 1, "what is shown stays");
  await page.locator("sluice-editor").evaluate((editor) => editor.setReadonly(false));
  await frame.getByRole("button", { name: "Publish" }).waitFor();
  assert.equal(await frame.locator(".react-flow__node").count(), 1, "what is shown stays");

  // Another window that knows a frame gets nothing out of it: its greeting does not come from the page around it. That of the page is heard, once.
  await page.evaluate(async () => {
    const { src } = document.querySelector("sluice-editor iframe");
    const unmet = Object.assign(document.createElement("iframe"), { name: "unmet", src });
    const loaded = new Promise((done) => unmet.addEventListener("load", done));
    document.body.append(unmet, Object.assign(document.createElement("iframe"), { name: "stranger" }));
    await loaded;
  });
  const greet = async () => {
    const { port1, port2 } = new MessageChannel();
    const said = [];
    port1.onmessage = ({ data }) => said.push(data);
    top.document.querySelector("[name=unmet]").contentWindow.postMessage("sluice-editor 1", "*", [port2]);
    await new Promise((done) => setTimeout(done, 1000));
    return said;
  };
  const heard = [await page.frame("stranger").evaluate(greet), await page.evaluate(greet), await page.evaluate(greet)];
  await page.evaluate(() => document.querySelectorAll("[name=stranger], [name=unmet]").forEach((one) => one.remove()));
  assert.deepEqual(heard, [[], [{ say: "ready" }], []]);

  // What was changed a moment before the page takes the editor away is saved.
  await frame.locator(".react-flow__node").first().click();
  await name.fill("Gone in a moment");
  await page.locator("sluice-editor").evaluate((editor) => editor.remove());
  for (let tries = 0; tries < 100 && (await draft()).nodes[0].name !== "Gone in a moment"; tries++) await page.waitForTimeout(100);
  assert.equal((await draft()).nodes[0].name, "Gone in a moment");

  // From here on the session's storage is blocked, too, and nothing is missing without it.
  await page.addInitScript(() => {
    const get = () => {
      throw new DOMException("blocked", "SecurityError");
    };
    if (location.pathname.startsWith("/embed/")) Object.defineProperty(globalThis, "sessionStorage", { get });
  });

  // Who may not publish sees no such button; who only reads can change nothing.
  product.options.access = { permissions: ["workflows:write"] };
  await page.reload();
  await frame.getByRole("button", { name: "Add a node", exact: true }).waitFor();
  assert.equal(await frame.getByRole("button", { name: /^(Publish|Run)$/ }).count(), 0);
  product.options.access = { preset: "viewer" };
  await page.reload();
  await frame.getByRole("status").getByText("Read only").waitFor();
  assert.equal(await frame.getByRole("button", { name: /^(Publish|Run|Edit|Add a node)$/ }).count(), 0);

  // The palette has the node types of the token.
  product.options.access = { preset: "editor", nodeTypes: ["transform", "wait"] };
  await page.reload();
  await frame.getByRole("button", { name: "Add a node", exact: true }).click();
  await frame.getByRole("searchbox", { name: "Search nodes" }).waitFor();
  assert.equal(await frame.getByRole("complementary").getByRole("listitem").count(), 2);

  assert.deepEqual(touched, []);
  assert.deepEqual(addresses.filter((address) => address.includes("ek_")), [], "the token is in no address");
  const answered = (await Promise.all(finished)).filter(Boolean);
  const cookiesTo = (origin) => answered.filter(({ address, cookie }) => address.startsWith(`${origin}/`) && cookie);
  assert.ok(cookiesTo(product.url).length > 0, "the product has its session");
  assert.ok(answered.some(({ address }) => address.startsWith(`${gateway}/v1/`)));
  assert.deepEqual(cookiesTo(gateway), [], "the frame sends no cookies");
  assert.deepEqual(await page.context().cookies(gateway), [], "and gets none");
  await page.close();
}
