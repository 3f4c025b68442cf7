import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepToken, readToken } from "./token";

const began = Date.parse("2026-11-28T12:00:00Z");
const token = (text: string, seconds = 100) => ({
  token: `ek_${text}`,
  permissions: ["workflows:read"],
  expiresAt: new Date(Date.now() + seconds * 1000).toISOString(),
});

/** A host that gives tokens in a row, and a gateway that takes some. */
function harness(given: (() => unknown)[], takes: (key: string) => boolean = () => true) {
  const asked: number[] = [];
  const keys: string[] = [];
  const bodies: string[] = [];
  const refusals: (string | undefined)[] = [];
  const fetched = vi.fn(async (request: Request) => {
    const key = request.headers.get("X-API-Key") ?? "";
    keys.push(key);
    bodies.push(await request.text());
    expect(request.credentials).toBe("omit");
    expect(request.url).not.toContain("ek_");
    return takes(key) ? new Response("{}") : new Response('{"code":"unauthenticated","message":"no"}', { status: 401 });
  });
  vi.stubGlobal("fetch", fetched);
  const tokens = keepToken(
    async () => {
      asked.push(Date.now() - began);
      return (given[asked.length - 1] ?? given.at(-1))?.();
    },
    { onToken: () => {}, onRefused: (failure) => refusals.push(failure?.message) },
  );
  return { tokens, asked, keys, bodies, refusals };
}

beforeEach(() => void vi.useFakeTimers({ now: began }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const address = "https://gateway.example/v1/gateway/workflows";

test("a token is renewed at 80 % of its lifetime, again and again", async () => {
  const { tokens, asked } = harness([() => token("a"), () => token("b", 200), () => token("c")]);
  await tokens.renew();
  await vi.advanceTimersByTimeAsync(79_000);
  expect(asked).toEqual([0]);
  await vi.advanceTimersByTimeAsync(1_000 + 160_000);
  expect(asked).toEqual([0, 80_000, 240_000]);
  tokens.stop();
});

test("a request that is refused is repeated once with another token, with its body", async () => {
  const { tokens, keys, bodies, refusals } = harness([() => token("a"), () => token("b")], (key) => key === "ek_b");
  await tokens.renew();
  const answer = await tokens.send(new Request(address, { method: "POST", body: '{"a":1}' }));
  expect([answer.status, keys, bodies]).toEqual([200, ["ek_a", "ek_b"], ['{"a":1}', '{"a":1}']]);
  expect(refusals.filter(Boolean)).toEqual([]);
  tokens.stop();
});

test("requests that are refused together ask for one token", async () => {
  const { tokens, asked } = harness([() => token("a"), () => token("b")], (key) => key === "ek_b");
  await tokens.renew();
  const answers = await Promise.all([1, 2, 3].map(() => tokens.send(address)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(asked.length).toBe(2);
  tokens.stop();
});

test("where the host has no other token, the request is refused, and that is said; it is taken back once there is one", async () => {
  let isSignedIn = true;
  const give = (text: string) => () => {
    if (!isSignedIn) throw new Error("signed out");
    return token(text);
  };
  const { tokens, refusals } = harness([give("a"), give("b"), give("b")], () => isSignedIn);
  await tokens.renew();
  isSignedIn = false;
  expect((await tokens.send(address)).status).toBe(401);
  expect(refusals.at(-1)).toBe("signed out");
  isSignedIn = true;
  await tokens.renew();
  expect(refusals.at(-1)).toBe("signed out"); // until the gateway has taken the token
  expect((await tokens.send(address)).status).toBe(200);
  expect(refusals.at(-1)).toBeUndefined();
  tokens.stop();
});

test("a host that fails while the token still holds is asked again before it ends", async () => {
  const fails = () => {
    throw new Error("try later");
  };
  const { tokens, asked, refusals } = harness([() => token("a"), fails, () => token("b")]);
  await tokens.renew();
  await vi.advanceTimersByTimeAsync(86_000);
  expect(asked).toEqual([0, 80_000, 85_000]);
  expect(refusals.filter(Boolean)).toEqual([]);
  tokens.stop();
});

test("a clock that is wrong changes nothing in when a token is renewed", async () => {
  const hour = 3_600_000;
  const made = () => ({
    ...token("a"),
    createdAt: new Date(began - hour).toISOString(),
    expiresAt: new Date(began - hour + 100_000).toISOString(),
  });
  const { tokens, asked } = harness([made]);
  await tokens.renew();
  await vi.advanceTimersByTimeAsync(79_000);
  expect(asked).toEqual([0]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toEqual([0, 80_000]);
  tokens.stop();
});

test("a token that was just refused is not taken again", async () => {
  const { tokens, keys, refusals } = harness([() => token("a")], () => false);
  await tokens.renew();
  expect((await tokens.send(address)).status).toBe(401);
  expect(keys).toEqual(["ek_a"]);
  expect(refusals.at(-1)).toContain("just refused");
  tokens.stop();
});

test("where token after token is refused, the host is asked less and less often", async () => {
  let made = 0;
  const { tokens, asked, refusals } = harness([() => token(`a${++made}`, 900)], () => false);
  await tokens.renew();
  for (let second = 0; second < 120; second++) {
    expect((await tokens.send(address)).status).toBe(401);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(asked).toEqual([0, 0, 5_000, 15_000, 35_000, 75_000]);
  expect(refusals.slice(1)).not.toContain(undefined);
  tokens.stop();
});

test.each([undefined, "ek_a", {}, { token: "sk_secret", permissions: [], expiresAt: "2026-11-28T12:00:00Z" }, { token: "ek_a", permissions: [] }])(
  "%j is no token",
  (given) => expect(() => readToken(given)).toThrow("POST /embed-tokens"),
);
