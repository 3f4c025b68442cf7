// Opens addresses in every way in which a browser could be made to act on them, from a page of the same origin that somebody is
// signed in to. Standard input is {executable, sessions: [{console, addresses}]}; what came of it is told by the requests that the
// page's server gets, and by standard output: what pages were changed to.
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";

const { executable, sessions } = JSON.parse(await text(process.stdin));
const browser = await chromium.launch({
  executablePath: executable,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const changed = [];
const wait = 2000; // milliseconds, for what may never end

// embed adds what loads the addresses to the page, and waits until that has ended in some way.
const embed = async (page, addresses) =>
  page.evaluate(async ([addresses, wait]) => {
    const ended = (element) => new Promise((resolve) => {
      element.onload = element.onerror = element.onmessage = resolve;
      setTimeout(resolve, wait);
    });
    const add = (name, members) => {
      const element = Object.assign(document.createElement(name), members);
      const end = ended(element);
      document.body.append(element);
      return end;
    };
    const work = (address) => {
      try {
        return ended(new Worker(address));
      } catch {
        return null; // a browser may refuse it at once
      }
    };
    await Promise.all(addresses.flatMap((address) => [
      add("iframe", { src: address }),
      add("script", { src: address }),
      add("script", { src: address, type: "module" }),
      add("link", { rel: "stylesheet", href: address }),
      add("link", { rel: "manifest", href: address }),
      add("object", { data: address }),
      add("embed", { src: address }),
      add("img", { src: address }),
      import(address).catch(() => {}),
      navigator.serviceWorker?.register(address, { scope: "/" }).catch(() => {}),
      work(address),
    ]));
    return navigator.serviceWorker ? (await navigator.serviceWorker.getRegistrations()).length : 0;
  }, [addresses, wait]);

const openSession = async ({ console: signedIn, addresses }) => {
  const context = await browser.newContext({ acceptDownloads: true });
  const page = await context.newPage();
  await page.goto(signedIn);
  const cookies = JSON.stringify(await context.cookies());
  const workers = await embed(page, addresses);
  await page.evaluate((addresses) => { for (const address of addresses) window.open(address); }, addresses);
  await page.waitForTimeout(300);
  const windows = context.pages().filter((other) => other !== page); // a window that only downloads closes itself
  await Promise.all(windows.map((window) => window.waitForLoadState("load", { timeout: wait }).catch(() => {})));
  await page.waitForTimeout(300);
  const state = await page.evaluate(() => ({ stolen: window.stolen ?? null, kept: localStorage.getItem("stolen"), at: location.pathname, shown: getComputedStyle(document.body).outlineStyle }));
  const after = JSON.stringify(await context.cookies());
  if (state.stolen !== null || state.kept !== null || state.at !== new URL(signedIn).pathname || state.shown !== "none" || workers > 0 || after !== cookies) {
    changed.push({ addresses, state, workers, cookies: after });
  }
  await context.close();
};

const waiting = sessions.values();
await Promise.all(Array.from({ length: 3 }, async () => {
  for (const next of waiting) {
    await openSession(next).catch((error) => {
      if (!/navigat/i.test(error.message)) throw error;
      changed.push({ addresses: next.addresses, led: error.message }); // the page was led elsewhere while it was asked
    });
  }
}));
await browser.close();
process.stdout.write(JSON.stringify(changed));
