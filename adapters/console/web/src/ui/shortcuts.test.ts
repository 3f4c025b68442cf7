import { afterEach, expect, test, vi } from "vitest";
import { hasOwnUndo } from "./shortcuts";

afterEach(() => void vi.unstubAllGlobals());

/** A page with a dialog or without one, and a field in it that is marked or is not. */
function undoIn({ dialog, marked }: { dialog: boolean; marked: boolean }) {
  const shown = (selector: string, isThere: boolean, of: string) => (isThere && selector.includes(of) ? {} : null);
  vi.stubGlobal("document", { querySelector: (selector: string) => shown(selector, dialog, '[role="dialog"]') });
  return hasOwnUndo({ closest: (selector: string) => shown(selector, marked, "[data-own-undo]") } as unknown as Element);
}

test("undo is the browser's own in a dialog, and in a field that is marked so", () => {
  expect(undoIn({ dialog: false, marked: false })).toBe(false);
  expect(undoIn({ dialog: true, marked: false })).toBe(true);
  expect(undoIn({ dialog: false, marked: true })).toBe(true);
  vi.stubGlobal("document", { querySelector: () => null });
  expect(hasOwnUndo(new EventTarget())).toBe(false);
});
