import { expect, test } from "vitest";
import { isGreeting } from "./host";

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
