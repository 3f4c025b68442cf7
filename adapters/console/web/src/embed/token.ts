import type { Right } from "@/api";

export type Token = { token: string; rights: Right[]; expiresAt: number };

/** Reads what the host gives: what `POST /embed-tokens` answers with. */
export function readToken(given: unknown): Token {
  const { token, permissions, expiresAt } = (given ?? {}) as Record<string, unknown>;
  const end = typeof expiresAt === "string" ? Date.parse(expiresAt) : Number.NaN;
  if (typeof token !== "string" || !/^ek_\w+$/.test(token) || !Array.isArray(permissions) || Number.isNaN(end))
    throw new Error("getToken() has to give what POST /embed-tokens answers with: {token, expiresAt, permissions}.");
  return { token, rights: permissions as Right[], expiresAt: end };
}

/** How much of its lifetime a token has behind it when another one is asked for. */
const renewedAfter = 0.8;
const soonest = 5_000; // milliseconds between two attempts
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

/** Keeps a token that is not over: it is renewed before its end, and after it was refused. It is kept nowhere but here. */
export function keepToken(ask: () => Promise<unknown>, { onToken, onRefused }: Watch): Tokens {
  let current: Token | undefined;
  let asking: Promise<Token> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const later = (wait: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => void renew().catch(() => undefined), Math.min(Math.max(wait, soonest), longestTimer));
  };
  const fail = (failure: unknown) => {
    const left = (current?.expiresAt ?? 0) - Date.now();
    if (left > 0) later(left / 4);
    else onRefused(failure instanceof Error ? failure : new Error(String(failure)));
  };
  const renew = (): Promise<Token> => {
    asking ??= Promise.resolve()
      .then(ask)
      .then(readToken)
      .then(
        (token) => {
          current = token;
          onRefused(undefined);
          onToken(token);
          later((token.expiresAt - Date.now()) * renewedAfter);
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
        message: failure instanceof Error ? failure.message : String(failure),
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
    if (answer.status !== 401) return answer;
    try {
      // Somebody else may have renewed it meanwhile.
      const next = current && current !== used ? current : await renew();
      const again = await sendWith(next, repeated);
      if (again.status === 401)
        onRefused(
          new Error(
            (
              await again
                .clone()
                .json()
                .catch(() => ({}))
            ).message ?? again.statusText,
          ),
        );
      return again;
    } catch (failure) {
      onRefused(failure instanceof Error ? failure : new Error(String(failure)));
      return refusal(failure);
    }
  };
  return { send, renew, stop: () => clearTimeout(timer) };
}
