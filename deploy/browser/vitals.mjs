// What a person notices of pages, as the browser measures it: when the largest thing is painted (LCP), how long a click or a key takes to be
// answered by the next picture (INP), and how far things jump before somebody does anything (CLS). Of each page the worst visit is kept.
import { get } from "node:http";

const aims = { lcp: 2500, inp: 200, cls: 0.1, firstView: 180_000 };
const isDone = (value) => value !== undefined;

/** Runs in each document, before its scripts. */
function watch() {
  const page = location.pathname;
  const visit = `${page} ${performance.timeOrigin}`;
  const on = (type, tell, more) =>
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!globalThis.isExamined && !(entry.startTime < globalThis.examinedUntil)) tell(entry);
    }).observe({ type, buffered: true, ...more });
  const keep = (what, value, of, at) => globalThis.keepVital?.({ page, visit, what, value, of, at });
  on("largest-contentful-paint", ({ startTime }) => keep("lcp", startTime));
  const moved = ({ node, previousRect: from, currentRect: to }) => `${node?.nodeName.toLowerCase()}.${node?.className?.split?.(" ")[0]} from ${from.x | 0},${from.y | 0} to ${to.x | 0},${to.y | 0}`;
  let isTouched = false; // what comes after a click or a choice moves things rightly, however late a busy machine shows it
  for (const type of ["pointerdown", "keydown", "input"]) addEventListener(type, () => (isTouched = true), { capture: true, once: true });
  on("layout-shift", ({ value, sources, startTime, hadRecentInput }) => {
    if (!isTouched && !hadRecentInput) keep("cls", value, sources.map(moved).join(", ").slice(0, 160), startTime);
  });
  on("event", ({ interactionId, duration, name, target }) => interactionId && keep("inp", duration, `${name} ${target?.textContent?.trim().slice(0, 30) ?? ""}`), { durationThreshold: 16 });
}

/** The same page of whatever tenant and record. */
const nameOf = (path) => path.replace(/^.*\/console(?:\/t\/tenant_\w+)?/, "").replace(/\/l\/.*|\b[a-z]+_\w{10,}/g, (id) => (id.startsWith("/l/") ? "/l/…" : "…")).replace(/^$/, "/");

/** How many bytes of a file come over the wire, compressed with gzip. */
const weigh = (url) =>
  new Promise((resolve, reject) => {
    get(url, { headers: { "Accept-Encoding": "gzip" } }, (response) => {
      if (response.headers["content-encoding"] !== "gzip") reject(new Error(`${url} is not compressed`));
      let bytes = 0;
      response.on("data", (chunk) => (bytes += chunk.length)).on("end", () => resolve(bytes)).on("error", reject);
    }).on("error", reject);
  });

export function vitals() {
  const pages = new Map(); // name → the worst of its visits
  const shifts = new Map(); // visit → how far things jumped in a burst: no second without a jump, five at most
  const interactions = [];
  const measured = []; // by stories
  let firstView;
  return {
    measure: (...line) => void measured.push(line),
    async watch(page) {
      await page.exposeFunction("keepVital", ({ page: path, visit, what, value, of, at }) => {
        if (!/\/(console|embed)(\/|$)/.test(path)) return; // a page of somebody else's product, which shows the editor
        const name = nameOf(path);
        const worst = pages.get(name) ?? {};
        pages.set(name, worst);
        if (what === "lcp") worst.lcp = Math.max(worst.lcp ?? 0, value);
        if (what === "inp") interactions.push({ value, of: `${of}, ${name}` });
        if (what === "cls") {
          let burst = shifts.get(visit);
          if (!burst || at - burst.last > 1000 || at - burst.first > 5000) shifts.set(visit, (burst = { first: at, sum: 0 }));
          burst.last = at;
          burst.sum += value;
          if (burst.sum > (worst.cls ?? 0)) Object.assign(worst, { cls: burst.sum, jumped: of });
        }
      });
      await page.addInitScript(watch);
    },
    /** Weighs the scripts that the page has loaded so far. */
    async weighFirstView(page) {
      const scripts = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => name.endsWith(".js")));
      firstView = (await Promise.all([...new Set(scripts)].map(weigh))).reduce((sum, bytes) => sum + bytes, 0);
    },
    /** The figures as lines of a table, and what is wrong with those that depend little on how busy the machine is. */
    report() {
      const lines = [];
      const failed = [];
      const line = (what, value, aim) => lines.push(`${what.padEnd(44)} ${value.padStart(10)}  ${aim}`);
      for (const [what, value, aim] of measured) line(what, value, aim);
      const ms = (value) => `${Math.round(value)} ms`;
      if (isDone(firstView)) {
        line("first view, JavaScript, gzip", `${(firstView / 1000).toFixed(1)} kB`, `at most ${aims.firstView / 1000} kB`);
        if (firstView > aims.firstView || firstView === 0) failed.push(`the first view loads ${firstView} bytes of JavaScript`);
      }
      const worst = (what) => [...pages].filter(([, { [what]: value }]) => isDone(value)).sort(([, a], [, b]) => b[what] - a[what]);
      for (const [at, [name, { lcp }]] of worst("lcp").entries()) if (at < 5) line(`LCP, ${name}`, ms(lcp), at === 0 ? `at most ${ms(aims.lcp)}; the slowest of ${worst("lcp").length} pages` : "");
      interactions.sort((a, b) => b.value - a.value);
      const [slowest] = interactions;
      if (slowest) {
        line("INP, the slowest", ms(slowest.value), `at most ${ms(aims.inp)}; ${slowest.of}`);
        line("INP, the 98th percentile", ms(interactions[Math.floor(interactions.length * 0.02)].value), `of ${interactions.length} clicks and keys that took 16 ms or more`);
      }
      for (const [at, [name, { cls, jumped }]] of worst("cls").entries()) {
        if (at < 3 || cls > aims.cls) line(`CLS, ${name}`, cls.toFixed(3), `at most ${aims.cls}; ${jumped}`);
        if (cls > aims.cls) failed.push(`the page ${name} jumps by ${cls.toFixed(3)}: ${jumped}`);
      }
      return { lines, failed };
    },
  };
}
