import { defineConfig } from "@lingui/cli";
import { formatter } from "@lingui/format-po";

// Messages stand in the code in English. Each folder has its own translations, so that who adds a page touches no file of others.
export default defineConfig({
  sourceLocale: "en",
  locales: ["pt", "es"],
  catalogs: [
    { path: "src/features/{name}/locales/{locale}", include: ["src/features/{name}"] },
    { path: "src/app/locales/{locale}", include: ["src/app"] },
    { path: "src/embed/locales/{locale}", include: ["src/embed"] },
    { path: "src/parts/locales/{locale}", include: ["src/parts"] },
    { path: "src/ui/locales/{locale}", include: ["src/ui"] },
  ],
  format: formatter({ lineNumbers: false, origins: false }),
});
