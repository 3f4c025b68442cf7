import { transformAsync } from "@babel/core";
import { lingui } from "@lingui/vite-plugin";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// The gateway that the development server speaks to.
const gateway = process.env.SLUICE_BASE_URL ?? "http://127.0.0.1:8080";

// messages turns Lingui's macros into calls. The English text stays in the code, and so needs no catalogue.
const messages = (): Plugin => ({
  name: "messages",
  enforce: "pre",
  transform(code, id) {
    if (!/\/src\/.*\.tsx?$/.test(id) || !code.includes('/macro"')) return null;
    return transformAsync(code, {
      filename: id,
      babelrc: false,
      configFile: false,
      sourceMaps: true,
      parserOpts: { plugins: ["typescript", "jsx"] },
      plugins: [["@lingui/babel-plugin-lingui-macro", { stripMessageField: false }]],
    }).then((made) => ({ code: made?.code ?? code, map: made?.map ?? null }));
  },
});

export default defineConfig(({ command }) => ({
  // What is built finds its files next to itself, so that it works below any path; the gateway writes the page's own addresses.
  base: command === "build" ? "./" : "/console/",
  plugins: [messages(), react(), lingui({ failOnMissing: command === "build" }), tailwindcss()],
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the policy of the page allows no data: for scripts and styles
    target: ["chrome111", "firefox114", "safari16.4"],
    manifest: "manifest.json",
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: { index: "index.html", embed: "embed.html", "sluice-editor": "src/embed/element.ts" },
      // The element is loaded by pages of other products, under a name that stays, and keeps what it exports.
      preserveEntrySignatures: "exports-only",
      output: { entryFileNames: ({ name }) => (name === "sluice-editor" ? "sluice-editor.js" : "assets/[name]-[hash].js") },
    },
    chunkSizeWarningLimit: 600,
  },
  server: {
    port: 5173,
    strictPort: true,
    proxy: Object.fromEntries(
      ["^/console$", "^/console\\?.*", "^/console/(api|l|sign-in|sign-out)(/|$|\\?)", "^/(openapi|docs)"].map((path) => [
        path,
        { target: gateway, changeOrigin: false },
      ]),
    ),
  },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"] },
}));
