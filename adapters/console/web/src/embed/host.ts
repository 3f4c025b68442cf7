import type { EditorEvents, FromFrame, ToFrame } from "../../../../httpapi/client/typescript/src/editor";

// The same as in the element, which shares no file with this page.
const hello = "sluice-editor 1";

const answeredWithin = 20_000; // milliseconds

type Received = Pick<MessageEvent, "source" | "origin" | "data" | "ports">;

/**
 * Says whether a message is the one by which the page that frames this one gives it a port. It is that of the window above, which must be of an origin
 * that the tenant has named: any window that knows this one can send it something.
 */
export function isGreeting({ source, origin, data, ports }: Received, origins: string[], self: Pick<Window, "parent"> = window): boolean {
  return self.parent !== self && source === self.parent && origins.includes(origin) && data === hello && ports.length === 1;
}

/** The page that shows this one. */
export type Host = {
  say: (message: FromFrame) => void;
  tell: <Name extends keyof EditorEvents>(name: Name, detail: EditorEvents[Name]) => void;
  /** Asks for a token. */
  askToken: () => Promise<unknown>;
};

/** Waits for the page that shows this one. What it says is heard in the order in which it is said; who greets later is not heard. */
export function meetHost(origins: string[], onMessage: (message: Exclude<ToFrame, { do: "token" }>, host: Host) => void) {
  let isMet = false;
  addEventListener("message", (event) => {
    if (isMet || !isGreeting(event, origins)) return;
    isMet = true;
    const port = event.ports[0] as MessagePort;
    const asked = new Map<number, (answer: { token?: unknown; error?: string }) => void>();
    let last = 0;
    const say = (message: FromFrame) => port.postMessage(message);
    const host: Host = {
      say,
      tell: (name, detail) => say({ say: "event", name, detail }),
      askToken: () =>
        new Promise((resolve, reject) => {
          const id = ++last;
          const answer = ({ token, error }: { token?: unknown; error?: string }) => {
            asked.delete(id);
            clearTimeout(timer);
            if (error === undefined) resolve(token);
            else reject(new Error(error));
          };
          const timer = setTimeout(() => answer({ error: `getToken() has not answered within ${answeredWithin / 1000} seconds.` }), answeredWithin);
          asked.set(id, answer);
          say({ say: "token", id });
        }),
    };
    port.onmessage = ({ data }: MessageEvent<ToFrame>) => {
      if (data.do !== "token") return onMessage(data, host);
      asked.get(data.id)?.(data);
    };
    say({ say: "ready" });
  });
}
