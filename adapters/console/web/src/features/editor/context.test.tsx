import { QueryClient } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { edit, emptyGraph, type Server } from "./model";
import { newView } from "./view";

vi.hoisted(() => void Object.assign(globalThis, { document: { querySelector: () => null }, location: new URL("https://gateway.example") }));
const { GuestProvider } = await import("@/api");
const { EditorContext, useIsReadOnly } = await import("./context");

function Shown() {
  return useIsReadOnly() ? "read-only" : "changeable";
}

test.each([
  ["changeable", false, ["workflows:write"] as const],
  ["read-only", false, ["workflows:read"] as const],
  ["read-only", true, ["workflows:write"] as const],
])("a version is %s (published: %s, permitted: %j)", (said, isPublished, rights) => {
  const editing = edit({} as Server, { versionId: "v1", etag: "1", graph: emptyGraph, isPublished });
  const shown = renderToStaticMarkup(
    <GuestProvider id="embedded" rights={[...rights]} client={{} as never} queries={new QueryClient()}>
      <EditorContext value={{ workflowId: "wf_1", editing, view: newView(), types: [], findings: [] }}>
        <Shown />
      </EditorContext>
    </GuestProvider>,
  );
  expect(shown).toBe(said);
});
