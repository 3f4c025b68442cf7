import { expect, test } from "vitest";
import { hostsOf, secretOf, shownMember } from "./secret";

const form = (values: Record<string, string>) => (name: string) => values[name];

test("a new secret has what was typed, and nothing else", () => {
  expect(secretOf("bearer", form({ token: "abc" }), [])).toEqual({ token: "abc" });
  expect(
    secretOf("oauth2ClientCredentials", form({ tokenUrl: "https://a/t", clientId: "me", clientSecret: "s", scopes: "read, write" }), []),
  ).toEqual({
    tokenUrl: "https://a/t",
    clientId: "me",
    clientSecret: "s",
    scopes: ["read", "write"],
  });
});

test("what is stored and not typed again is kept, and what is shown can be taken away", () => {
  const before = { tokenUrl: "https://a/t", clientId: "me", clientSecret: "[redacted]", audience: "x" };
  expect(secretOf("oauth2ClientCredentials", form({ tokenUrl: "https://a/t", clientId: "you" }), [], before)).toEqual({
    tokenUrl: "https://a/t",
    clientId: "you",
    clientSecret: "[redacted]",
  });
  expect(secretOf("basic", form({ password: "new" }), [], { username: "[redacted]", password: "[redacted]" })).toEqual({
    username: "[redacted]",
    password: "new",
  });
});

test("headers have names of the person's own", () => {
  const pairs = [
    { id: 1, key: "X-Key ", value: "" },
    { id: 2, key: "X-New", value: "v" },
    { id: 3, key: "", value: "" },
  ];
  expect(secretOf("header", form({}), pairs, { "X-Key": "[redacted]", "X-Gone": "[redacted]" })).toEqual({ "X-Key": "[redacted]", "X-New": "v" });
});

test("hosts stand on lines or between commas", () => {
  expect(hostsOf("api.example.com,\n *.example.org:8443\n")).toEqual(["api.example.com", "*.example.org:8443"]);
  expect(hostsOf(undefined)).toEqual([]);
});

test("a form never holds what is redacted", () => {
  expect([shownMember("[redacted]"), shownMember(["a", "b"]), shownMember("x"), shownMember(undefined)]).toEqual(["", "a b", "x", ""]);
});
