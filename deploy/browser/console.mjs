// Drives the console as a person does, story by story: each file of stories/ is one, in the order of their names. The first is that of a newcomer,
// who comes in by the link of sluice dev; each other one begins on the overview of a tenant of its own with the example workflow, so that none
// depends on another. Standard input is {executable, url, link, key, control, pictures, sequences, failures, looks, only, again}: link signs in, key is
// the secret key of the newcomer's tenant, control restarts the gateway and runs commands, pictures is a folder for pictures or empty, sequences one
// for what each story showed, failures one for pictures of stories that fail, looks are colour schemes and widths, again says that the stories were told
// with another database. Standard output is {findings, lines}: by story a list of texts, and a table of figures.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";
import { sequence } from "./sequences.mjs";
import { vitals } from "./vitals.mjs";

const { executable, url, link, key: newcomersKey, control, pictures, sequences, failures, looks, only, again } = JSON.parse(await text(process.stdin));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const viewports = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } };
if (pictures) mkdirSync(pictures, { recursive: true });

const browser = await chromium.launch({
  executablePath: executable,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--test-third-party-cookie-phaseout"],
});
/** A session of the browser: cookies and settings of its own. */
const newSession = async () => {
  const context = await browser.newContext({ viewport: viewports.wide, locale: "en-GB", permissions: ["clipboard-read", "clipboard-write"] });
  context.setDefaultTimeout(30_000); // stories wait for states, and a busy machine is slow to reach them
  return context;
};
const signedIn = await newSession();
const findings = {};
const figures = vitals();

/** What axe looks for: everything once, and in other looks what depends on them. */
const allRules = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
const rulesOf = { colour: ["color-contrast", "link-in-text-block"], width: ["target-size", "scrollable-region-focusable", "region", "landmark-unique", "page-has-heading-one"] };

/** Runs a command of the operator, and returns what it prints as JSON. */
const sluice = async (...args) => {
  const answer = await fetch(`${control}/command`, { method: "POST", body: JSON.stringify([...args, "--json"]) });
  const printed = await answer.text();
  assert.equal(answer.status, 200, printed);
  return JSON.parse(printed);
};

/** The tenant of the newcomer, or one of its own for a story. */
const tenantFor = async (name) => {
  if (name === "overview") return { home: newcomersHome, key: newcomersKey };
  const { tenantId, secretKey } = await sluice("tenant", "create", "--name", "Acme", "--example");
  await sluice("member", "add", "--tenant", tenantId, "--email", "demo@example.com", "--role", "admin");
  return { home: `${url}/console/t/${tenantId}`, key: secretKey };
};

/** Comes in by the link that sluice dev prints, and returns where that leads. */
const comeIn = async (page) => {
  await page.goto(link);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/console\/t\/tenant_\w+$/);
  return page.url();
};

/** Says what went wrong, and where in the story. */
const describe = (failure, file) => {
  const text = String(failure.stack ?? failure).replaceAll(/\x1b\[\d+m/g, "");
  const line = text.match(new RegExp(`${file}:(\\d+)`))?.[1];
  return `failed at ${file}:${line ?? "?"}: ${text.split(/\n\s+at /)[0]}`;
};

const stories = readdirSync(new URL("stories", import.meta.url)).sort();
let newcomersHome;
for (const file of stories) {
  const name = file.replace(/^\d+-|\.mjs$/g, "");
  if (only && !name.includes(only)) continue;
  const { default: run, ofTheBrowser } = await import(new URL(`stories/${file}`, import.meta.url));
  if (again && ofTheBrowser) {
    findings[name] = [];
    continue;
  }
  const began = performance.now();
  const found = [];
  const tolerated = [];
  const refused = []; // the last answers that were no success
  const shownPictures = sequences ? sequence(join(sequences, name)) : undefined;

  /** Opens a page whose mistakes fail the story. */
  const newPage = async (context) => {
    const page = await context.newPage();
    page.on("console", (message) => {
      const text = `${message.text()} ${message.location().url ?? ""}`;
      if (["error", "warning"].includes(message.type()) && !tolerated.some((pattern) => pattern.test(text))) found.push(`console: ${text}`);
    });
    page.on("pageerror", (error) => found.push(`uncaught: ${error.stack ?? error}`));
    page.on("response", (response) => {
      const [method, path] = [response.request().method(), new URL(response.url()).pathname];
      if (response.status() >= 400) refused.push(`${method} ${path} ${response.status()}`);
    });
    await page.exposeFunction("policyViolated", (what) => found.push(`policy: ${what}`));
    await page.addInitScript(() => addEventListener("securitypolicyviolation", (e) => globalThis.policyViolated(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`)));
    await figures.watch(page);
    await shownPictures?.follow(page);
    return page;
  };
  const page = await newPage(signedIn);

  const settled = (shown) => shown.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));

  /** Asks axe about what a page or a frame shows now, in each look, and takes a picture of the page. */
  const examine = async (as, shown = page) => {
    if (looks.length === 0) return;
    const whole = shown.parentFrame ? shown.page() : shown;
    shownPictures?.pause(true);
    await shown.evaluate(() => void (globalThis.isExamined = true));
    await shown.evaluate(axe);
    for (const [at, [colorScheme, width]] of looks.entries()) {
      await whole.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await whole.setViewportSize(viewports[width]);
      await settled(shown); // parts notice that they scroll once they were laid out
      if (pictures) await whole.screenshot({ path: join(pictures, `${as}-${colorScheme}-${width}.png`) });
      const runOnly = at === 0 ? allRules : { type: "rule", values: [...(colorScheme === looks[0][0] ? [] : rulesOf.colour), ...(width === looks[0][1] ? [] : rulesOf.width)] };
      const { violations } = await shown.evaluate((runOnly) => axe.run(document, { runOnly, resultTypes: ["violations"] }), runOnly);
      for (const v of violations) found.push(`axe, ${as} ${colorScheme} ${width}: ${v.id}: ${v.nodes.map((n) => `${n.html} (${n.failureSummary})`).join(" ")}`.slice(0, 1500));
      if (await shown.evaluate(() => document.documentElement.scrollWidth > innerWidth)) found.push(`${as} ${colorScheme} ${width}: it scrolls sideways`);
    }
    await whole.emulateMedia({ colorScheme: looks[0][0], reducedMotion: "no-preference" });
    await whole.setViewportSize(viewports.wide);
    await settled(shown);
    await shown.evaluate(() => {
      globalThis.isExamined = false;
      globalThis.examinedUntil = performance.now(); // what happened before is told late on a busy machine
    });
    shownPictures?.pause(false);
  };

  /** Takes one picture for README, in one look. */
  const picture = async (as, colorScheme = "light", shown = page) => {
    if (!pictures) return;
    await shown.emulateMedia({ colorScheme });
    await shown.screenshot({ path: join(pictures, `${as}.png`), animations: "disabled" });
    await shown.emulateMedia({ colorScheme: "light" });
  };

  try {
    newcomersHome ??= await comeIn(page);
    const { home, key } = await tenantFor(name);
    await page.goto(home);
    await run({
      page,
      home,
      url,
      assert,
      examine,
      picture,
      sluice,
      /** Opens a page of somebody else, who is not signed in. */
      otherPage: async () => newPage(await newSession()),
      /** The secret key of the tenant. */
      key,
      /** Calls the API with a key, as a tenant's server does. */
      call: (method, path, body, withKey = key) =>
        fetch(`${url}/v1/gateway${path}`, { method, headers: { "X-API-Key": withKey, "Content-Type": "application/json" }, body: body && JSON.stringify(body) }),
      /** Opens a page of the tenant by its address: "keys". */
      open: (path) => page.goto(path ? `${home}/${path}` : home),
      /** Says that the browser may complain of something, such as an answer that is no success. */
      tolerate: (pattern) => tolerated.push(pattern),
      /** Reports a figure: what it is, its value, and what it should be. */
      measure: figures.measure,
      weighFirstView: () => figures.weighFirstView(page),
      restartGateway: async () => assert.equal((await fetch(`${control}/restart`, { method: "POST" })).status, 200),
    });
  } catch (failure) {
    mkdirSync(failures, { recursive: true });
    const picture = join(failures, `${name}.png`);
    await page.screenshot({ path: picture }).catch(() => {});
    found.push(`${describe(failure, file)}\nat ${page.url()}; picture: ${picture}${refused.length > 0 ? `; refused before: ${refused.slice(-5).join(", ")}` : ""}`);
  }
  await page.close();
  await shownPictures?.end();
  findings[name] = found;
  process.stderr.write(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s${findings[name].length > 0 ? ", with findings" : ""}\n`);
}
await browser.close();
const { lines, failed } = figures.report();
if (failed.length > 0) findings.figures = failed;
process.stdout.write(JSON.stringify({ findings, lines }));
