import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import type { Frame } from "./frame";

vi.hoisted(() => {
  Object.assign(globalThis, {
    window: globalThis,
    self: globalThis,
    document: { querySelector: () => null },
    location: new URL("https://gateway.example/embed/tenant_1"),
    addEventListener: () => {},
  });
});
const opened = vi.hoisted(() => [] as unknown[]);
vi.mock("@/api", async (original) => ({
  ...(await original<object>()),
  LiveProvider: ({ open }: { open: unknown }) => {
    opened.push(open);
    return "live";
  },
}));
const { Embedded } = await import("./Embedded");
const { newFrame } = await import("./frame");

test("the editor stays where it is, whether or not the token permits the stream", () => {
  const frame: Frame = newFrame();
  Object.assign(frame.store, { getInitialState: frame.store.getState }); // what servers render
  for (const rights of [["workflows:write", "runs:read"], ["workflows:write"]] as const) {
    frame.store.setState({ rights: [...rights] });
    expect(renderToStaticMarkup(<Embedded frame={frame} />)).toBe("live");
  }
  expect(opened[0]).toBe(frame.open);
  expect(opened[1]).not.toBe(frame.open);
});
