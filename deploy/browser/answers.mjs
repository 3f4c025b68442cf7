// Opens pages for answers as people do, without JavaScript, and asks axe about each, light and dark, wide and narrow. Standard input is
// {executable, pages, form, pictures}: pages are addresses by name, form is one with a form to fill in, pictures a folder for pictures or
// empty. Standard output is what was found: violations by page, texts by name.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";

const { executable, pages, form, pictures } = JSON.parse(await text(process.stdin));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"] });
const found = { violations: {}, texts: {} };
const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } };

// axe needs scripts, so it looks at a copy.
const copy = await (await browser.newContext()).newPage();

// examine asks axe about the page as it is shown now, and takes pictures of it.
const examine = async (page, name) => {
  await copy.setContent(await page.content());
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, viewport] of Object.entries(sizes)) {
      const as = `${name}-${colorScheme}-${width}`;
      for (const one of [page, copy]) {
        await one.emulateMedia({ colorScheme });
        await one.setViewportSize(viewport);
      }
      if (pictures) await page.screenshot({ path: join(pictures, `${as}.png`), fullPage: true });
      await copy.evaluate(axe);
      const { violations } = await copy.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
      const sideways = await copy.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      found.violations[as] = violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`);
      if (sideways) found.violations[as].push("it scrolls sideways");
    }
  }
  found.texts[name] = await page.locator("main").innerText().catch(() => "");
};

const context = await browser.newContext({ javaScriptEnabled: false });
const page = await context.newPage();
for (const [name, address] of Object.entries(pages)) {
  await page.goto(address);
  await examine(page, name);
}
for (const locale of ["es-MX", "pt-BR"]) {
  const other = await browser.newContext({ javaScriptEnabled: false, locale });
  const translated = await other.newPage();
  await translated.goto(form);
  await examine(translated, `form-${locale}`);
  await other.close();
}

// A person sends the form with mistakes, follows the links to them, and sends it again.
await page.goto(form);
await page.getByLabel("How many").fill("1.5");
await page.getByLabel("Note").fill("<b>Ünïcode</b>\nline");
await page.getByRole("button", { name: "Send answer" }).click();
await examine(page, "mistakes");
await page.getByRole("link", { name: /^How many/ }).click();
found.texts.focused = (await page.locator(":focus").getAttribute("name")) ?? "";
await page.getByLabel("How many").fill("3");
await page.getByLabel("Approve").selectOption({ label: "Yes" });
await page.getByLabel("Way").selectOption({ label: "By air" });
const stale = await context.newPage(); // somebody else who is shown the question
await stale.goto(form);
await page.getByRole("button", { name: "Send answer" }).click();
await examine(page, "answered");
await stale.getByLabel("Approve").selectOption({ label: "No" });
await stale.getByRole("button", { name: "Send answer" }).click();
await examine(stale, "second");

// What is no page of ours is found wanting, or axe would prove nothing.
await page.setContent("<main><input><img src=x></main>");
await examine(page, "control");
await browser.close();
process.stdout.write(JSON.stringify(found));
