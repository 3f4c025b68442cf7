// A product whose page is made with React shows the editor by the component of the TypeScript client.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const web = new URL("../../../adapters/console/web/", import.meta.url).pathname;

/** Builds the product's script, with the React of the console. */
async function buildScript() {
  const load = createRequire(join(web, "package.json"));
  const { build } = await import(load.resolve("vite"));
  const outDir = mkdtempSync(join(tmpdir(), "host-"));
  const alias = Object.fromEntries(["react-dom", "react"].map((name) => [name, join(web, "node_modules", name)]));
  const input = new URL("../react-host.mjs", import.meta.url).pathname;
  await build({ root: web, configFile: false, logLevel: "error", resolve: { alias }, define: { "process.env.NODE_ENV": '"production"' }, build: { outDir, emptyOutDir: true, rollupOptions: { input, output: { entryFileNames: "host.js" } } } });
  const script = readFileSync(join(outDir, "host.js"));
  rmSync(outDir, { recursive: true });
  return script;
}

export const ofTheBrowser = true;

export default async ({ assert, call, otherPage, tolerate, url }) => {
  const gateway = url.replace("localhost", "127.0.0.1");
  const made = async (path, body) => (await call("POST", path, body)).json();
  const workflow = await made("/workflows", { name: "When an order is paid", subTenantId: "customer-42" });
  const version = await made("/workflow-versions", { workflowId: workflow.id, nodes: [{ id: "a", type: "transform", version: "1.0.0", name: "Round it", config: { expression: "1 +" } }], edges: [] });
  const { embed } = await (await call("GET", "/settings")).json();
  const script = await buildScript();
  const page = await otherPage();
  const policy = `default-src 'none'; script-src 'self'; frame-src ${gateway}; connect-src 'self'; style-src 'unsafe-inline'`;
  const html = `<!doctype html><html lang="en"><title>Acme</title><body data-embed-id="${embed.id}" data-workflow-id="${workflow.id}" data-gateway="${gateway}" style="margin:0"><div id="root"></div><script type="module" src="/host.js"></script>`;
  const pages = {
    "/": async () => ["text/html", html],
    "/host.js": async () => ["text/javascript", script],
    "/token": async () => ["application/json", JSON.stringify(await made("/embed-tokens", { subTenantId: "customer-42", subject: "anna", preset: "editor" }))],
  };
  const product = createServer(async ({ url }, response) => {
    const [type, text] = (await pages[url]?.()) ?? ["text/plain", "There is no such page."];
    response.writeHead(200, { "Content-Type": type, "Content-Security-Policy": policy }).end(text);
  });
  await new Promise((listening) => product.listen(0, "localhost", listening));
  try {
    const origin = `http://localhost:${product.address().port}`;
    assert.equal((await call("PATCH", "/settings", { embed: { origins: [origin] } })).status, 200);
    await use({ assert, call, page, tolerate, origin, version });
  } finally {
    await page.close();
    product.close();
    product.closeAllConnections();
  }
};

async function use({ assert, call, page, tolerate, origin, version }) {
  const frame = page.frameLocator("sluice-editor iframe");
  const draft = async () => (await call("GET", `/workflow-versions/${version.id}`)).json();
  const heard = (name) => page.waitForFunction((name) => globalThis.said.find(([one]) => one === name)?.[1], name).then((found) => found.jsonValue());
  const set = (props) => page.evaluate((props) => globalThis.setProps(props), props);

  // What is changed is told: not saved, and saved.
  await page.goto(origin);
  await frame.locator(".react-flow__node").first().click();
  await frame.getByRole("textbox", { name: "Name", exact: true }).fill("Round it up");
  assert.equal((await heard("saved")).versionId, version.id);
  assert.equal((await draft()).nodes[0].name, "Round it up");
  assert.deepEqual(await page.evaluate(() => globalThis.said.flatMap(([name, detail]) => (name === "dirty" ? [detail] : []))), [true, false]);

  // Its methods are those of the element: what stands against publishing fails the call.
  tolerate(/400/);
  assert.equal(await page.evaluate(() => globalThis.editor.current.publish().then(() => "published", ({ message }) => message)), "The workflow version cannot be published yet.");
  assert.equal((await draft()).isActive, false);

  // Properties follow: colours, language, and whether something may be changed.
  await set({ theme: { mode: "dark", colors: { accent: "#ff00aa" } }, locale: "es", readonly: true });
  await frame.getByRole("status").getByText("Solo lectura").waitFor();
  const inner = page.frames().find((one) => one.url().includes("/embed/"));
  assert.equal(await inner.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--accent")), "#ff00aa");
  await set({ theme: { colors: { accent: "url(https://example.com/a)" } } });
  assert.equal((await heard("error")).code, "theme");
  await frame.getByRole("status").getByText("Saved", { exact: true }).waitFor();

  // What was changed a moment before the component goes is saved.
  await frame.getByRole("textbox", { name: "Name", exact: true }).fill("Gone in a moment");
  await set({ isGone: true });
  await page.getByText("It is gone").waitFor();
  assert.equal(await page.locator("sluice-editor").count(), 0);
  for (let tries = 0; tries < 100 && (await draft()).nodes[0].name !== "Gone in a moment"; tries++) await page.waitForTimeout(100);
  assert.equal((await draft()).nodes[0].name, "Gone in a moment");
}
