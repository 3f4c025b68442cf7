// Builds the pages anew and compares them with dist, which is committed. What is compared is what the files hold: another version of
// Node may compress them otherwise. Translations are compared, too: messages that nobody has extracted or translated are none.
// Both are made in a folder of their own, so that a check changes nothing.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

const web = new URL(".", import.meta.url).pathname;
const made = mkdtempSync(join(tmpdir(), "console-"));

/** The files of a folder whose names end so, as they are once unpacked. */
function contents(folder, ending, unpack = (_, content) => content) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(ending) && statSync(join(folder, name)).isFile());
  return new Map(files.sort().map((name) => [name, unpack(name, readFileSync(join(folder, name))).toString("latin1")]));
}

/** Names of the files that differ. */
function differences(before, after) {
  return [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name));
}

try {
  const copy = join(made, "web");
  for (const name of ["src", "lingui.config.ts", "package.json"]) cpSync(join(web, name), join(copy, name), { recursive: true });
  symlinkSync(join(web, "node_modules"), join(copy, "node_modules"));
  execFileSync("npx", ["--no-install", "lingui", "extract", "--clean"], { cwd: copy, stdio: ["ignore", "ignore", "inherit"] });
  const changed = differences(contents(join(web, "src"), ".po"), contents(join(copy, "src"), ".po"));
  if (changed.length > 0) throw `messages have changed: run "npm run messages" in adapters/console/web, and translate ${changed.join(", ")}`;

  const dist = join(made, "dist");
  execFileSync("npx", ["--no-install", "vite", "build", "--outDir", dist, "--emptyOutDir"], { cwd: web, stdio: "inherit" });
  execFileSync("node", ["compress.mjs", dist], { cwd: web, stdio: "inherit" });
  const unpack = (name, content) => (name.endsWith(".br") ? brotliDecompressSync(content) : gunzipSync(content));
  const stale = differences(contents(join(web, "../dist"), "", unpack), contents(dist, "", unpack));
  if (stale.length > 0)
    throw `adapters/console/dist is not what its sources build into; run "make console" and commit it: ${stale.slice(0, 5).join(", ")}`;
} catch (failure) {
  console.error(failure);
  process.exitCode = 1;
} finally {
  rmSync(made, { recursive: true });
}
