import { afterEach, expect, test, vi } from "vitest";
import { type Host, isGreeting, meetHost } from "./host";

const parent = {} as Window;
const port = {} as MessagePort;
const self = { parent };
const greeting = { source: parent, origin: "https://app.example.com", data: "sluice-editor 1", ports: [port] };
const origins = ["https://app.example.com", "http://localhost:3000"];

test("the page around the frame is heard, if its origin is named", () => {
  expect(isGreeting(greeting, origins, self)).toBe(true);
  expect(isGreeting({ ...greeting, origin: "http://localhost:3000" }, origins, self)).toBe(true);
});

test.each([
  ["another window", { source: {} as Window }],
  ["no window", { source: null }],
  ["an origin that is not named", { origin: "https://app.example.com.attacker.example" }],
  ["an origin with another port", { origin: "https://app.example.com:8443" }],
  ["no origin", { origin: "null" }],
  ["something else", { data: { do: "open" } }],
  ["nothing to answer by", { ports: [] }],
  ["two ports", { ports: [port, port] }],
])("%s is not heard", (_, otherwise) => expect(isGreeting({ ...greeting, ...otherwise }, origins, self)).toBe(false));

test("a page that nobody frames hears nobody, itself included", () => {
  const alone = {} as { parent: Window };
  alone.parent = alone as unknown as Window;
  expect(isGreeting({ ...greeting, source: alone.parent }, origins, alone)).toBe(false);
  expect(isGreeting(greeting, [], self)).toBe(false);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a page that never gives a token is not waited for, and what it gives later is not taken", async () => {
  vi.useFakeTimers();
  let greet: (event: object) => void = () => {};
  vi.stubGlobal("addEventListener", (_: string, hear: typeof greet) => {
    greet = hear;
  });
  vi.stubGlobal("window", self);
  const said: { say: string; id?: number }[] = [];
  const to = { postMessage: (message: (typeof said)[number]) => said.push(message), onmessage: (_: object) => {} };
  const met: Host[] = [];
  meetHost(origins, (_, host) => met.push(host));
  greet({ ...greeting, ports: [to] });
  to.onmessage({ data: { do: "open" } });
  const [host] = met as [Host];
  const first = host.askToken().catch(({ message }: Error) => message);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await first).toContain("has not answered");
  const second = host.askToken();
  const [, , next] = said;
  expect([said.length, next?.say]).toEqual([3, "token"]);
  to.onmessage({ data: { do: "token", id: said[1]?.id, token: "late" } });
  to.onmessage({ data: { do: "token", id: next?.id, token: "given" } });
  expect(await second).toBe("given");
});
