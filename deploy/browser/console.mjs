// Drives the console as a person does, story by story: each file of stories/ is one, in the order of their names, and begins signed in
// on the overview. Standard input is {executable, url, link, key, control, pictures, looks}: link signs in, key is the tenant's secret
// key, control is asked to restart the gateway, pictures is a folder for pictures or empty, looks are colour schemes and widths.
// Standard output is what was found: by story, each a list of texts.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";

const { executable, url, link, key, control, pictures, looks, only } = JSON.parse(await text(process.stdin));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const viewports = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } };
if (pictures) mkdirSync(pictures, { recursive: true });

const browser = await chromium.launch({
  executablePath: executable,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const context = await browser.newContext({ viewport: viewports.wide, locale: "en-GB", permissions: ["clipboard-read", "clipboard-write"] });
context.setDefaultTimeout(20_000);
const findings = {};
const measured = {};

// Where somebody is signed in, and the tenant whose pages are shown.
const opened = await context.newPage();
await opened.goto(link);
await opened.getByRole("button", { name: "Sign in" }).click();
await opened.waitForURL(/\/console\/t\/tenant_\w+$/);
const home = opened.url();
await opened.close();

for (const file of readdirSync(new URL("stories", import.meta.url)).sort()) {
  const name = file.replace(/^\d+-|\.mjs$/g, "");
  if (only && !name.includes(only)) continue;
  const found = [];
  const page = await context.newPage();
  const tolerated = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !tolerated.some((pattern) => pattern.test(message.text()))) found.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => found.push(`uncaught: ${error.stack ?? error}`));
  await page.exposeFunction("policyViolated", (what) => found.push(`policy: ${what}`));
  await page.addInitScript(() => addEventListener("securitypolicyviolation", (e) => globalThis.policyViolated(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`)));

  /** Asks axe about what is shown now, in each look, and takes a picture of it. */
  const examine = async (as) => {
    for (const [colorScheme, width] of looks) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize(viewports[width]);
      if (pictures) await page.screenshot({ path: join(pictures, `${as}-${colorScheme}-${width}.png`) });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
      for (const v of violations) found.push(`axe, ${as} ${colorScheme} ${width}: ${v.id}: ${v.nodes.map((n) => `${n.html} (${n.failureSummary})`).join(" ")}`.slice(0, 1500));
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) found.push(`${as} ${colorScheme} ${width}: it scrolls sideways`);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(viewports.wide);
  };

  /** Calls the API with a key, as a tenant's server does. */
  const call = (method, path, body, withKey = key) =>
    fetch(`${url}/v1/gateway${path}`, { method, headers: { "X-API-Key": withKey, "Content-Type": "application/json" }, body: body && JSON.stringify(body) });

  const story = {
    page,
    home,
    url,
    assert,
    call,
    examine,
    /** Opens a page of the tenant by its address: "keys". */
    open: (path) => page.goto(path ? `${home}/${path}` : home),
    /** Says that the browser may complain of something, such as an answer that is no success. */
    tolerate: (pattern) => tolerated.push(pattern),
    /** Keeps a figure for the report. */
    measure: (what, value) => {
      measured[what] = value;
    },
    restartGateway: async () => assert.equal((await fetch(control, { method: "POST" })).status, 200),
  };
  try {
    await page.goto(home);
    const { default: run } = await import(new URL(`stories/${file}`, import.meta.url));
    await run(story);
  } catch (failure) {
    found.push(`failed: ${failure.stack ?? failure}`);
    if (pictures) await page.screenshot({ path: join(pictures, `failed-${name}.png`) }).catch(() => {});
  }
  findings[name] = found;
  await page.close();
}
await browser.close();
process.stdout.write(JSON.stringify({ findings, measured }));
