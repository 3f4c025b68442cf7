// Who sent a request: Standard Webhooks (https://www.standardwebhooks.com) and
// X-CNP-Signature, with what Node has built in.

import { createHmac, timingSafeEqual } from "node:crypto";

// tolerance is how far the time of a signature may be from now, in seconds: what was
// recorded cannot be played again later.
const tolerance = 5 * 60;

// maxBody bounds what is read before it is known who sent it, in bytes.
const maxBody = 2 << 20;

// Untrusted says that a request is not from the gateway, or not from now.
export class Untrusted extends Error {}

// Verifier knows the secrets that calls may be signed with, "whsec_" and base64 each.
export class Verifier {
  #secrets;

  constructor(secrets) {
    if (secrets.length === 0) {
      throw new Error("name at least one secret, whsec_…");
    }
    this.#secrets = secrets.map((text, i) => {
      const key = Buffer.from(text.replace(/^whsec_/, ""), "base64");
      if (!text.startsWith("whsec_") || key.length < 24) { // the error must not show it
        throw new Error(`secret ${i + 1} is not whsec_ and base64`);
      }
      return { text, key };
    });
  }

  // check throws Untrusted unless the Standard Webhooks headers hold a signature by a
  // known secret, made in the last minutes. The body is the very bytes that were sent, so
  // this comes before any decoding.
  check(headers, body) {
    const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
    if (!id || !signatures || !/^\d+$/.test(timestamp ?? "")) {
      throw new Untrusted("there is no signature");
    }
    if (Math.abs(Date.now() / 1000 - Number(timestamp)) > tolerance) {
      throw new Untrusted("its time is not now");
    }
    const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
    const wanted = this.#secrets.map(({ key }) => "v1," + mac(key, signed));
    if (!someEqual(signatures.split(" "), wanted)) { // several, while the gateway's secret rotates
      throw new Untrusted("no signature was made with a known secret");
    }
  }

  // checkCall is check for calls of custom nodes, which X-CNP-Signature signs too:
  // either one is enough, and to check both shows that they agree. Its key is the
  // secret's text, with whsec_.
  checkCall(headers, body) {
    this.check(headers, body);
    const given = (headers["x-cnp-signature"] ?? "").split(",").map((s) => s.trim());
    if (!someEqual(given, this.#secrets.map(({ text }) => "sha256=" + mac(text, body)))) {
      throw new Untrusted("X-CNP-Signature was not made with a known secret");
    }
  }
}

function mac(key, signed) {
  return createHmac("sha256", key).update(signed).digest("base64");
}

// someEqual says whether one of the texts is one of those wanted, in a time that does
// not tell how much of it was right.
function someEqual(texts, wanted) {
  let found = false;
  for (const text of texts) {
    for (const want of wanted) {
      const a = Buffer.from(text);
      const b = Buffer.from(want);
      found = (a.length === b.length && timingSafeEqual(a, b)) || found;
    }
  }
  return found;
}

// readBody reads the bytes of a request.
export async function readBody(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > maxBody) {
      throw new Untrusted("it is too large to find out");
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}
