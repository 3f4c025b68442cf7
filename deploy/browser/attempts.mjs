// Opens addresses in every way in which a browser could be made to act on them, from a page of the same origin that somebody is
// signed in to. Standard input is {executable, console, addresses}; what came of it is told by the requests that the page's
// server gets, and by standard output: what a page was changed to.
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";

const { executable, console: signedIn, addresses } = JSON.parse(await text(process.stdin));
const browser = await chromium.launch({
  executablePath: executable,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const changed = [];

// embed adds what loads the address to the page, and waits until that has ended in some way.
const embed = async (page, address) =>
  page.evaluate(async (address) => {
    const ended = (element) => new Promise((resolve) => {
      element.onload = element.onerror = resolve;
      setTimeout(resolve, 1500);
    });
    const add = (name, members) => {
      const element = Object.assign(document.createElement(name), members);
      const end = ended(element);
      document.body.append(element);
      return end;
    };
    await Promise.all([
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
      new Promise((resolve) => {
        try {
          const worker = new Worker(address);
          worker.onmessage = worker.onerror = resolve;
          setTimeout(resolve, 1500);
        } catch {
          resolve();
        }
      }),
    ]);
    return navigator.serviceWorker ? (await navigator.serviceWorker.getRegistrations()).length : 0;
  }, address);

for (const address of addresses) {
  const context = await browser.newContext({ acceptDownloads: true });
  const page = await context.newPage();
  await page.goto(signedIn);
  const cookies = JSON.stringify(await context.cookies());
  const workers = await embed(page, address);
  const top = await context.newPage();
  await top.goto(signedIn);
  await top.goto(address).catch(() => {}); // a download is no page
  await top.waitForTimeout(150);
  const opened = page.waitForEvent("popup", { timeout: 2000 }).catch(() => null);
  await page.evaluate((address) => { window.open(address); }, address);
  const popup = await opened;
  await popup?.waitForTimeout(150);
  const state = await page.evaluate(() => ({ stolen: window.stolen ?? null, kept: localStorage.getItem("stolen"), at: location.pathname, shown: getComputedStyle(document.body).outlineStyle }));
  const after = JSON.stringify(await context.cookies());
  if (state.stolen !== null || state.kept !== null || state.at !== new URL(signedIn).pathname || state.shown !== "none" || workers > 0 || after !== cookies) {
    changed.push({ address, state, workers, cookies: after });
  }
  await context.close();
}
await browser.close();
process.stdout.write(JSON.stringify(changed));
