// Signs and verifies deliveries with the senders' own packages. Each line of standard input is a request, each line of
// standard output its answer: {headers} for {op: "sign"}, {verified} for {op: "verify"}.
import { createInterface } from "node:readline";
import { sign, verify } from "@octokit/webhooks-methods";
import bolt from "@slack/bolt";
import { verifyKey } from "discord-interactions";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import twilio from "twilio";

const seconds = (at) => Math.floor(at / 1000);

const senders = {
  github: {
    sign: async ({ secret, body }) => ({ "X-Hub-Signature-256": await sign(secret, body) }),
    verify: ({ secret, body, headers }) => verify(secret, body, headers["x-hub-signature-256"]),
  },
  stripe: {
    sign: ({ secret, body, at }) => ({
      "Stripe-Signature": Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: seconds(at) }),
    }),
    verify: ({ secret, body, headers }) =>
      Stripe.webhooks.constructEvent(body, headers["stripe-signature"], secret) !== undefined,
  },
  standard: {
    sign: ({ secret, body, at }) => ({
      "webhook-id": "msg_official",
      "webhook-timestamp": String(seconds(at)),
      "webhook-signature": new Webhook(secret).sign("msg_official", new Date(at), body),
    }),
    verify: ({ secret, body, headers }) => new Webhook(secret).verify(body, headers) !== undefined,
  },
  // Slack's package verifies and does not sign.
  slack: {
    verify: ({ secret, body, headers }) => {
      bolt.verifySlackRequest({ signingSecret: secret, body, headers });
      return true;
    },
  },
  discord: {
    verify: ({ publicKey, body, headers }) =>
      verifyKey(body, headers["x-signature-ed25519"], headers["x-signature-timestamp"], publicKey),
  },
  "twilio form": {
    sign: ({ secret, body, url }) => ({
      "X-Twilio-Signature": twilio.getExpectedTwilioSignature(secret, url, Object.fromEntries(new URLSearchParams(body))),
    }),
    verify: ({ secret, body, url, headers }) =>
      twilio.validateRequest(secret, headers["x-twilio-signature"], url, Object.fromEntries(new URLSearchParams(body))),
  },
  "twilio JSON": {
    verify: ({ secret, body, url, headers }) =>
      twilio.validateRequestWithBody(secret, headers["x-twilio-signature"], url, body),
  },
};

async function answer(request) {
  const sender = senders[request.sender];
  if (request.op === "sign") {
    return sender.sign ? { headers: await sender.sign(request) } : {};
  }
  try {
    return { verified: (await sender.verify(request)) === true };
  } catch {
    return { verified: false }; // some packages throw what others answer
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + "\n");
}
