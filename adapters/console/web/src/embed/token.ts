import type { Right } from "@/api";

export type Token = { token: string; rights: Right[] /** In milliseconds. */; lifetime: number };

const shortest = 60_000; // milliseconds that a token lives: the gateway gives none that ends earlier
const timeOf = (text: unknown) => (typeof text === "string" ? Date.parse(text) : Number.NaN);

/** Reads what the host gives: what `POST /embed-tokens` answers with. */
export function readToken(given: unknown): Token {
  const { token, permissions, createdAt, expiresAt } = (given ?? {}) as Record<string, unknown>;
  const end = timeOf(expiresAt);
  if (typeof token !== "string" || !/^ek_\w+$/.test(token) || !Array.isArray(permissions) || Number.isNaN(end))
    throw new Error("getToken() has to give what POST /embed-tokens answers with: {token, createdAt, expiresAt, permissions}.");
  // Both times are by the gateway's clock. The browser's may be wrong.
  const lifetime = end - (timeOf(createdAt) || Date.now());
  return { token, rights: permissions as Right[], lifetime: Math.max(lifetime, shortest) };
}

/** How much of its lifetime a token has behind it when another one is asked for. */
const renewedAfter = 0.8;
const soonest = 5_000; // milliseconds between two attempts
const longestPause = 60_000; // milliseconds in which no refusal asks for a token, where token after token is refused
const longestTimer = 2 ** 31 - 1;

export type Tokens = {
  /** Sends a request with the token. Where that is refused, another one is asked for, and the request is repeated once. */
  send: (request: Request | string | URL, init?: RequestInit) => Promise<Response>;
  /** Asks for a token now, as when somebody tries again. */
  renew: () => Promise<Token>;
  stop: () => void;
};

type Watch = {
  onToken: (token: Token) => void;
  /** No token that the gateway takes was to be had; undefined when there is one again. */
  onRefused: (failure: Error | undefined) => void;
};

const errorOf = (failure: unknown) => (failure instanceof Error ? failure : new Error(String(failure)));

/** Keeps a token that is not over: it is renewed before its end, and after it was refused. It is kept nowhere but here. */
export function keepToken(ask: () => Promise<unknown>, { onToken, onRefused }: Watch): Tokens {
  let current: Token | undefined;
  let end = 0; // of the current one
  let dead: string | undefined; // the one that was refused last
  let pausedUntil = 0;
  let pauses = 0;
  let asking: Promise<Token> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const later = (wait: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => void renew().catch(() => undefined), Math.min(Math.max(wait, soonest), longestTimer));
  };
  const fail = (failure: unknown) => {
    const left = end - Date.now();
    if (left > 0) later(left / 4);
    else onRefused(errorOf(failure));
  };
  const refuse = (failure: unknown) => {
    if (Date.now() >= pausedUntil) pausedUntil = Date.now() + Math.min(soonest * 2 ** pauses++, longestPause);
    onRefused(errorOf(failure));
  };
  const accept = () => {
    dead = undefined;
    pausedUntil = 0;
    pauses = 0;
    onRefused(undefined);
  };
  const renew = (mayBeDead = false): Promise<Token> => {
    asking ??= Promise.resolve()
      .then(ask)
      .then((given) => {
        const token = readToken(given);
        if (token.token === dead && !mayBeDead) throw new Error("getToken() gave the token again that the gateway has just refused.");
        return token;
      })
      .then(
        (token) => {
          current = token;
          end = Date.now() + token.lifetime;
          if (dead === undefined) onRefused(undefined); // else the gateway has to take it first
          later(token.lifetime * renewedAfter);
          onToken(token);
          return token;
        },
        (failure) => {
          fail(failure);
          throw failure;
        },
      )
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };

  const sendWith = ({ token }: Token, request: Request) => {
    const headers = new Headers(request.headers);
    headers.set("X-API-Key", token);
    return fetch(new Request(request, { headers, credentials: "omit" }));
  };
  /** What nobody could be asked for is a refusal, as the gateway says it: the work is kept. */
  const refusal = (failure: unknown) =>
    new Response(
      JSON.stringify({
        statusCode: 401,
        code: "unauthenticated",
        message: errorOf(failure).message,
        requestId: "",
      }),
      {
        status: 401,
        headers: { "Content-Type": "application/json" },
      },
    );

  const send: Tokens["send"] = async (address, init) => {
    const request = new Request(address, init);
    const repeated = request.clone();
    let used: Token;
    try {
      used = current ?? (await renew());
    } catch (failure) {
      return refusal(failure);
    }
    const answer = await sendWith(used, request);
    if (answer.status !== 401) {
      accept();
      return answer;
    }
    dead = used.token;
    if (current === used && Date.now() < pausedUntil) return answer;
    try {
      // Somebody else may have renewed it meanwhile.
      const next = current && current !== used ? current : await renew();
      const again = await sendWith(next, repeated);
      if (again.status === 401) {
        dead = next.token;
        const said = await again
          .clone()
          .json()
          .catch(() => ({}));
        refuse(new Error(said.message ?? again.statusText));
      } else accept();
      return again;
    } catch (failure) {
      refuse(failure);
      return refusal(failure);
    }
  };
  return { send, renew: () => renew(true), stop: () => clearTimeout(timer) };
}
