import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FromFrame, SluiceEditor, ToFrame } from "../../../../httpapi/client/typescript/src/editor";

/** What browsers have of elements, as far as the editor's needs it. */
class FakeElement extends EventTarget {
  isConnected = false;
  style = {};
  #attributes = new Map<string, string>();
  getAttribute = (name: string) => this.#attributes.get(name) ?? null;
  hasAttribute = (name: string) => this.#attributes.has(name);
  append = (frame: FakeFrame) => void frames.push(frame);
  set(name: string, after: string | null) {
    const before = this.getAttribute(name);
    if (after === null) this.#attributes.delete(name);
    else this.#attributes.set(name, after);
    (this as unknown as SluiceEditor).attributeChangedCallback(name, before, after);
  }
  toggleAttribute(name: string, isOn: boolean) {
    this.set(name, isOn ? "" : null);
  }
}
class FakeFrame extends EventTarget {
  style = {};
  src = "";
  port: MessagePort | undefined;
  contentWindow = {
    postMessage: (_: string, __: string, [port]: MessagePort[]) => {
      this.port = port;
    },
  };
  setAttribute() {}
  remove() {
    frames = frames.filter((one) => one !== this);
  }
}
let frames: FakeFrame[] = [];
let Editor: new () => SluiceEditor & FakeElement;

beforeEach(async () => {
  frames = [];
  vi.stubGlobal("HTMLElement", FakeElement);
  vi.stubGlobal("document", { createElement: () => new FakeFrame() });
  vi.stubGlobal("getComputedStyle", () => ({ display: "block" }));
  vi.stubGlobal("location", { origin: "https://app.example.com" });
  vi.resetModules();
  Editor = (await import("../../../../httpapi/client/typescript/src/editor")).SluiceEditor as unknown as typeof Editor;
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** An element in a page. */
function place(attributes: Record<string, string>) {
  const editor = new Editor();
  editor.isConnected = true;
  for (const [name, value] of Object.entries(attributes)) editor.set(name, value);
  editor.connectedCallback();
  const errors: { code: string; message: string }[] = [];
  editor.addEventListener("error", (event: Event) => errors.push((event as CustomEvent).detail));
  return { editor, errors };
}
const usual = { gateway: "https://gateway.example", "embed-id": "tenant_1", "workflow-id": "wf_1" };

/** The page in the frame: what it is told, one after the other. */
function load() {
  const [frame] = frames as [FakeFrame];
  frame.dispatchEvent(new Event("load"));
  const port = frame.port as MessagePort;
  const told: ToFrame[] = [];
  const waiting: ((message: ToFrame) => void)[] = [];
  port.onmessage = ({ data }) => {
    const take = waiting.shift();
    if (take) take(data);
    else told.push(data);
  };
  const next = () => new Promise<ToFrame>((resolve) => (told.length > 0 ? resolve(told.shift() as ToFrame) : waiting.push(resolve)));
  return { next, say: (message: FromFrame) => port.postMessage(message), close: () => port.close() };
}

test("of what getToken() gives, the frame gets what it reads; what cannot be copied does not matter", async () => {
  const { editor } = place(usual);
  const { next, say, close } = load();
  expect(await next()).toMatchObject({ do: "open", workflowId: "wf_1" });
  const token = { token: "ek_a", createdAt: "2026-11-28T12:00:00Z", expiresAt: "2026-11-28T12:15:00Z", permissions: ["workflows:read"] };
  editor.getToken = async () => ({ ...token, permissions: new Proxy(token.permissions, {}), log: () => {} });
  say({ say: "token", id: 1 });
  expect(await next()).toEqual({ do: "token", id: 1, token });
  close();
});

test("what getToken() gives and cannot be copied is an error, and no silence", async () => {
  const { editor } = place(usual);
  const { next, say, close } = load();
  await next();
  editor.getToken = async () => ({ token: (() => {}) as unknown as string, expiresAt: "", permissions: [] });
  say({ say: "token", id: 1 });
  expect(await next()).toMatchObject({ do: "token", id: 1, error: expect.stringContaining("clone") });
  close();
});

test("an attribute that the frame refuses is taken back, and one that it takes stays", async () => {
  const { editor, errors } = place(usual);
  const { next, say, close } = load();
  await next();
  editor.set("readonly", "");
  const asked = await next();
  expect(asked).toMatchObject({ do: "readonly", isReadOnly: true });
  say({ say: "done", id: (asked as { id: number }).id, error: "The last changes could not be saved: offline." });
  await vi.waitFor(() => expect(errors.map(({ code }) => code)).toEqual(["readonly"]));
  expect(editor.hasAttribute("readonly")).toBe(false);
  editor.set("readonly", "");
  say({ say: "done", id: ((await next()) as { id: number }).id });
  editor.set("workflow-id", "wf_2");
  expect(await next()).toMatchObject({ do: "open", workflowId: "wf_2", isReadOnly: true }); // and nothing in between
  close();
});

test("an element is shown once it is known which one, and shows one frame", () => {
  const { editor } = place({ gateway: "https://gateway.example", "workflow-id": "wf_1" });
  expect(frames).toEqual([]);
  editor.set("embed-id", "tenant_1");
  expect(frames.map(({ src }) => src)).toEqual(["https://gateway.example/embed/tenant_1"]);
  editor.set("gateway", "https://other.example");
  expect(frames.map(({ src }) => src)).toEqual(["https://other.example/embed/tenant_1"]);
});

test("an element that becomes known in the page makes its frame when all attributes are there", () => {
  const made = vi.spyOn(document, "createElement");
  place(usual);
  expect(made).toHaveBeenCalledTimes(1);
});

test("an editor that was taken away is not said to be silent", () => {
  vi.useFakeTimers();
  const { editor, errors } = place(usual);
  load().close();
  editor.isConnected = false;
  editor.disconnectedCallback();
  vi.advanceTimersByTime(60_000);
  expect(errors).toEqual([]);
});
