// The editor with many nodes beside React Flow alone with as many plain ones, one after the other in the same browser: how long it takes until
// somebody can edit, and how long frames take while everything is panned. A version has 500 nodes at most: more come from a version that is
// changed on its way to the page, and could not be saved.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const web = new URL("../../../adapters/console/web/", import.meta.url).pathname;
const most = 500;

/** Builds the page with React Flow alone, with the React Flow of the console, and serves it. */
async function serveBare() {
  const { build } = await import(createRequire(join(web, "package.json")).resolve("vite"));
  const out = mkdtempSync(join(tmpdir(), "bare-"));
  const names = { entryFileNames: "bare.js", assetFileNames: "bare[extname]" };
  await build({ root: web, configFile: false, logLevel: "error", define: { "process.env.NODE_ENV": '"production"' }, build: { outDir: out, emptyOutDir: true, rollupOptions: { input: join(web, "bare.ts"), output: names } } });
  const files = Object.fromEntries(["bare.js", "bare.css"].map((name) => [`/${name}`, readFileSync(join(out, name))]));
  rmSync(out, { recursive: true });
  const page = '<!doctype html><link rel="stylesheet" href="/bare.css"><body style="margin:0"><div id="root" style="width:1000px;height:740px"></div><script type="module" src="/bare.js"></script>';
  const server = createServer(({ url }, response) => {
    const file = files[url];
    response.writeHead(200, { "Content-Type": !file ? "text/html" : url.endsWith(".js") ? "text/javascript" : "text/css" }).end(file ?? page);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

/** Runs in each document: notes when the first node was painted. */
function noteNodes() {
  new MutationObserver((_, observer) => {
    if (!document.querySelector(".react-flow__node")) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => (globalThis.editableAt = performance.now())));
  }).observe(document, { childList: true, subtree: true });
}

/** Drags the canvas to and fro, as far as the eye follows, and returns how long each frame took. */
async function pan() {
  const pane = document.querySelector(".react-flow__pane");
  const { left, top, width, height } = pane.getBoundingClientRect();
  const frame = () => new Promise(requestAnimationFrame);
  let clientX = left + width / 2;
  const clientY = top + height / 2;
  const send = (type, to) => to.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true, view: window, clientX, clientY, buttons: 1 }));
  const place = () => document.querySelector(".react-flow__viewport").style.transform;
  const before = place();
  send("mousedown", pane);
  const took = [];
  let last = await frame();
  for (let at = 0; at < 60; at++) {
    clientX += at % 30 < 20 ? 12 : -12;
    send("mousemove", window);
    const now = await frame();
    took.push(now - last);
    last = now;
  }
  const isPanned = place() !== before;
  send("mouseup", window);
  return { took: took.sort((a, b) => a - b), isPanned };
}

/** What this is about happens in the browser, whatever the database. */
export const ofTheBrowser = true;

export default async ({ page, home, call, assert, measure }) => {
  const nodes = Array.from({ length: 1_000 }, (_, at) => ({
    id: `n${at}`, type: "transform", version: "1.0.0", name: `Step ${at}`, config: { expression: "input" }, position: { x: (at % 25) * 280, y: Math.floor(at / 25) * 130 },
  }));
  const edges = nodes.slice(1).map(({ id }, at) => ({ sourceNodeId: `n${at}`, targetNodeId: id }));
  const server = await serveBare();
  const shown = await page.context().newPage(); // what it takes is no figure of a page of the console
  await shown.addInitScript(noteNodes);
  const look = async (url) => {
    await shown.goto(url);
    await shown.waitForFunction(() => globalThis.editableAt);
    const editable = await shown.evaluate(() => globalThis.editableAt);
    await shown.waitForTimeout(1_000); // until nothing is loaded any more that is not needed yet
    const { took, isPanned } = await shown.evaluate(pan);
    assert.ok(isPanned, `${url} is not panned`);
    return { editable, p50: took[took.length / 2], p95: took[Math.floor(took.length * 0.95)] };
  };
  const ms = (value) => `${Math.round(value)} ms`;
  try {
    for (const [at, count] of [30, 30, 80, 200, 500, 1_000].entries()) {
      const workflow = await (await call("POST", "/workflows", { name: `Visit ${at} of ${count} nodes` })).json();
      const stored = Math.min(count, most);
      const version = await call("POST", "/workflow-versions", { workflowId: workflow.id, nodes: nodes.slice(0, stored), edges: edges.slice(0, stored - 1) });
      assert.equal(version.status, 201, await version.clone().text());
      const grown = async (route) => {
        const response = await route.fetch();
        const answer = await response.json();
        const more = edges.slice(0, count - 1).map((edge, at) => ({ ...edge, id: `e${at}` }));
        await route.fulfill({ response, json: { ...answer, nodes: nodes.slice(0, count).map((node) => ({ ...answer.nodes[0], ...node })), edges: more } });
      };
      if (count > most) await shown.route(/workflow-versions\/wfv_\w+$/, grown);
      const editor = await look(`${home}/workflows/${workflow.id}/editor`);
      await shown.unroute(/workflow-versions\/wfv_\w+$/);
      const bare = await look(`http://127.0.0.1:${server.address().port}/bare?nodes=${count}`);
      if (at === 0) continue; // the first visit fills the browser's cache
      measure(`editor, ${count} nodes, until editable`, ms(editor.editable), `at most 2000 ms with 500; React Flow alone ${ms(bare.editable)}`);
      measure(`editor, ${count} nodes, panning, p95`, ms(editor.p95), `${(editor.p95 / bare.p95).toFixed(2)} × of React Flow alone (${ms(bare.p95)}), at most 1.3; p50 ${ms(editor.p50)} and ${ms(bare.p50)}`);
    }
  } finally {
    await shown.close();
    server.close();
  }
};
