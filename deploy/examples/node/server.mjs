// An example of a customer's service: it runs the custom node score_lead for the
// gateway, and receives the gateway's webhooks. It trusts nothing that is not signed
// with a secret it knows. It needs Node 20 or later and no packages.
//
// Take verify.mjs and once.mjs as they are; replace what leads.mjs and webhooks.mjs do.

import { createServer } from "node:http";

import { runLead } from "./leads.mjs";
import { Once } from "./once.mjs";
import { Untrusted, Verifier, readBody } from "./verify.mjs";
import { receive } from "./webhooks.mjs";

const nodes = verifierOf("NODE_SECRETS");
const webhooks = verifierOf("WEBHOOK_SECRETS");
const done = new Once();
const seen = new Once();

// verifierOf reads secrets separated by commas: while one rotates, two are good.
function verifierOf(variable) {
  try {
    return new Verifier((process.env[variable] ?? "").split(/[, ]+/).filter(Boolean));
  } catch (error) {
    console.error(`${variable}: ${error.message}`);
    process.exit(1);
  }
}

const handlers = {
  "/nodes": (headers, body) => {
    nodes.checkCall(headers, body);
    return runLead(JSON.parse(body), headers["idempotency-key"], done);
  },
  "/webhooks": (headers, body) => {
    webhooks.check(headers, body);
    return receive(JSON.parse(body), headers["webhook-id"], seen);
  },
};

const server = createServer({ requestTimeout: 10_000 }, async (request, response) => {
  const handle = handlers[request.url];
  if (request.method !== "POST" || !handle) {
    response.writeHead(404).end();
    return;
  }
  try {
    const answer = handle(request.headers, await readBody(request));
    if (answer === undefined) {
      response.writeHead(204).end();
      return;
    }
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
  } catch (error) {
    if (error instanceof Untrusted) {
      console.log(`refused a call to ${request.url}: ${error.message}`);
      response.writeHead(401).end("untrusted");
    } else if (error instanceof SyntaxError) {
      response.writeHead(400).end("not JSON");
    } else {
      console.error(error);
      response.writeHead(500).end();
    }
  }
});

const [host, port] = splitAddress(process.env.LISTEN ?? "127.0.0.1:9090");
server.listen(port, host, () => console.log(`listening on ${host}:${server.address().port}`));
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    server.close();
    server.closeIdleConnections();
  });
}

function splitAddress(address) {
  const at = address.lastIndexOf(":");
  return [address.slice(0, at) || "127.0.0.1", Number(address.slice(at + 1))];
}
