// Compresses what Vite built (in the folder that is named, or in dist), which the gateway serves as it lies there, and checks how much JavaScript the first view loads.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const dist = process.argv[2] ?? new URL("../dist/", import.meta.url).pathname;
const firstViewLimit = 180_000; // bytes, gzip
const editorLimit = 90_000; // more of it
const elementLimit = 5_000; // of what pages of other products load themselves

const manifest = JSON.parse(readFileSync(join(dist, "manifest.json"), "utf8"));
rmSync(join(dist, "manifest.json"));

const sizes = {};
for (const name of readdirSync(dist, { recursive: true })) {
  const path = join(dist, name);
  if (!statSync(path).isFile()) continue;
  const content = readFileSync(path);
  const zipped = gzipSync(content, { level: 9 });
  zipped[9] = 255; // the same on every system
  sizes[name] = zipped.length;
  writeFileSync(`${path}.gz`, zipped);
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
  );
  rmSync(path);
}

/** The scripts that a file needs before it runs. */
function scriptsOf(key, found = new Set()) {
  const entry = manifest[key];
  if (found.has(entry.file)) return found;
  found.add(entry.file);
  for (const imported of entry.imports ?? []) scriptsOf(imported, found);
  return found;
}
const weigh = (files) => [...files].reduce((sum, file) => sum + sizes[file], 0);

// The first view is the overview: the frame and the page that somebody sees after the sign-in.
const first = scriptsOf("index.html");
for (const key of Object.keys(manifest)) if (/features\/overview\/\w+Page/.test(key)) scriptsOf(key, first);
const bytes = weigh(first);
// The editor loads more, before anything of it is asked for.
const editor = new Set([...scriptsOf("src/features/editor/EditorPage.tsx")].filter((file) => !first.has(file)));
const more = weigh(editor);
const all = Object.values(sizes).reduce((sum, size) => sum + size, 0);
console.log(
  `first view: ${(bytes / 1000).toFixed(1)} kB of JavaScript, gzip (at most ${firstViewLimit / 1000}); the editor: ${(more / 1000).toFixed(1)} kB more (at most ${editorLimit / 1000}); all files: ${(all / 1000).toFixed(1)} kB`,
);
const element = weigh(scriptsOf("src/embed/element.ts"));
console.log(`the element for other products' pages: ${(element / 1000).toFixed(1)} kB of JavaScript, gzip (at most ${elementLimit / 1000})`);
if (element > elementLimit || scriptsOf("src/embed/element.ts").size > 1) {
  console.error("What other products' pages load has become too large, or is more than one file.");
  process.exit(1);
}
if (bytes > firstViewLimit || more > editorLimit) {
  console.error("The first view or the editor has become too large. Load what they do not need when it is needed.");
  process.exit(1);
}
