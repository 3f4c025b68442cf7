import type { Messages } from "@lingui/core";
import { expect, test } from "vitest";

const catalogues = import.meta.glob<Messages>("../**/locales/*.po", { eager: true, import: "messages" });

test.each(["pt", "es"])("a message has one translation in %s, whichever folders use it; other meanings have a context", (language) => {
  const known = new Map<string, string>();
  const twice: string[] = [];
  for (const [file, messages] of Object.entries(catalogues)) {
    if (!file.endsWith(`/${language}.po`)) continue;
    for (const [id, translation] of Object.entries(messages)) {
      const text = JSON.stringify(translation);
      if ((known.get(id) ?? text) !== text) twice.push(`${file}: ${text}, elsewhere ${known.get(id)}`);
      known.set(id, text);
    }
  }
  expect(known.size).toBeGreaterThan(500);
  expect(twice).toEqual([]);
});
