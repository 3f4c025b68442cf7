// A product that shows its customers the editor in a page of its own: node server.mjs, with SLUICE_URL, SLUICE_KEY and PORT. See README.md.
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const file = (name) => readFile(new URL(name, import.meta.url), "utf8");

/** Whose customer somebody is, and who: your own sign-in. Here whoever comes for the first time is Anna of customer-42. */
const sessions = new Map();
const whoIs = (request) => sessions.get(/(?:^|; )session=(\w+)/.exec(request.headers.cookie ?? "")?.[1]);
const signIn = (response, who = { company: "customer-42", person: "anna" }) => {
  const id = randomBytes(16).toString("hex");
  sessions.set(id, who);
  response.setHeader("Set-Cookie", `session=${id}; HttpOnly; SameSite=Lax; Path=/`);
  return who;
};

/** Serves the product. The secret key stays on the server; the browser gets tokens for one company, which end after `seconds`. */
export async function serve({ gateway, secretKey, port = 0, access = { preset: "editor" }, seconds = 900 }) {
  const call = async (method, path, body) => {
    const answer = await fetch(`${gateway}/v1/gateway${path}`, {
      method,
      headers: { "X-API-Key": secretKey, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };

  /** The first workflow of a company, which is made where there is none. */
  const workflowOf = async (company) => {
    const { items } = await call("GET", `/workflows?subTenantId=${encodeURIComponent(company)}&limit=1`);
    return items[0] ?? call("POST", "/workflows", { name: "When an order is paid", subTenantId: company });
  };

  const options = { access, seconds }; // may be changed while it serves
  const answers = {
    "/": async (request, response) => {
      const { company } = whoIs(request) ?? signIn(response);
      const { embed } = await call("GET", "/settings");
      const texts = { GATEWAY: gateway, EMBED_ID: embed.id, WORKFLOW_ID: (await workflowOf(company)).id };
      return { type: "text/html; charset=utf-8", text: (await file("page.html")).replaceAll(/\{(\w+)\}/g, (all, name) => texts[name] ?? all) };
    },
    "/page.js": async () => ({ type: "text/javascript", text: await file("page.js") }),
    "/automation-token": async (request) => {
      // Pages of others can make a browser ask, with the cookie: they get no token.
      if (request.method !== "POST") return { status: 405, type: "text/plain", text: "Use POST." };
      if (request.headers["sec-fetch-site"] !== "same-origin") return { status: 403, type: "text/plain", text: "Only pages of this product ask." };
      const who = whoIs(request);
      if (!who) return { status: 401, type: "text/plain", text: "Sign in first." };
      const { company, person } = who;
      const token = await call("POST", "/embed-tokens", { subTenantId: company, subject: person, ...options.access, expiresInSeconds: options.seconds });
      return { type: "application/json", text: JSON.stringify(token) };
    },
  };
  const server = createServer((request, response) => {
    const policy = `default-src 'none'; script-src 'self' ${gateway}; frame-src ${gateway}; connect-src 'self'; style-src 'unsafe-inline'`;
    const answer = async () => answers[request.url.split("?")[0]]?.(request, response);
    answer().then(
      (made) => {
        response.writeHead(made ? (made.status ?? 200) : 404, { "Content-Type": made?.type ?? "text/plain", "Content-Security-Policy": policy, "Cache-Control": "no-store" });
        response.end(made?.text ?? "There is no such page.");
      },
      (failure) => {
        console.error(failure);
        response.writeHead(502).end("Try again in a moment.");
      },
    );
  });
  await new Promise((resolve) => server.listen(port, "localhost", resolve));
  const url = `http://localhost:${server.address().port}`;
  return { url, options, signOut: () => sessions.clear(), close: () => server.close().closeAllConnections() };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { SLUICE_URL: gateway = "http://127.0.0.1:8080", SLUICE_KEY: secretKey, PORT: port = 8095 } = process.env;
  if (!secretKey) throw new Error("SLUICE_KEY has to be a secret key (sk_…) of the tenant");
  const { url } = await serve({ gateway, secretKey, port: Number(port) });
  console.log(`The product is at ${url}. Its origin has to be among embed.origins of PATCH /settings.`);
}
