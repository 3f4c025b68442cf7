// Builds the pages anew and compares them with dist, which is committed. What is compared is what the files hold: another version of
// Node may compress them otherwise. Translations are compared, too: messages that nobody has extracted or translated are none.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

const dist = new URL("../dist", import.meta.url).pathname;
const run = (...args) => execFileSync("npx", ["--no-install", ...args], { stdio: ["ignore", "ignore", "inherit"] });

/** The files of a folder, as they are once unpacked. */
function contents(folder, unpack) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile());
  return new Map(files.sort().map((name) => [name, unpack(name, readFileSync(join(folder, name))).toString("latin1")]));
}

/** Names of the files that differ. */
function differences(before, after) {
  return [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name));
}

const kept = mkdtempSync(join(tmpdir(), "console-"));
try {
  const src = new URL("src", import.meta.url).pathname;
  const translations = () => new Map([...contents(src, (_, content) => content)].filter(([name]) => name.endsWith(".po")));
  const translated = translations();
  run("lingui", "extract", "--clean");
  const changed = differences(translated, translations());
  if (changed.length > 0) throw `messages have changed: run "npm run messages" in adapters/console/web, and translate ${changed.join(", ")}`;

  cpSync(dist, kept, { recursive: true });
  execFileSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
  const unpack = (name, content) => (name.endsWith(".br") ? brotliDecompressSync(content) : gunzipSync(content));
  const stale = differences(contents(kept, unpack), contents(dist, unpack));
  if (stale.length > 0)
    throw `adapters/console/dist is not what its sources build into; run "make console" and commit it: ${stale.slice(0, 5).join(", ")}`;
  rmSync(dist, { recursive: true });
  cpSync(kept, dist, { recursive: true });
} catch (failure) {
  console.error(failure);
  process.exitCode = 1;
} finally {
  rmSync(kept, { recursive: true });
}
