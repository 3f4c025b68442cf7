import { errorOf } from "./error";

/** An event of a stream. Its data is JSON. */
export type StreamEvent = { id: string; event: string; data: string };

/** Splits text that arrives in pieces into server-sent events (HTML standard, 9.2.6). */
export function eventReader(onEvent: (event: StreamEvent) => void, onRetry: (ms: number) => void = () => {}) {
  let rest = "";
  let id = "";
  let event = "";
  let data: string[] = [];
  const line = (text: string) => {
    if (text === "") {
      if (data.length > 0) onEvent({ id, event: event || "message", data: data.join("\n") });
      event = "";
      data = [];
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return; // a comment
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(colon + 1).replace(/^ /, "");
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
    else if (field === "retry" && /^\d+$/.test(value)) onRetry(Number(value));
  };
  return (piece: string) => {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    lines.forEach(line);
  };
}

export type StreamState = "connecting" | "live" | "waiting" | "ended";

export type Follow = {
  onEvent: (event: StreamEvent) => void;
  onState?: (state: StreamState) => void;
  /** The gateway refuses to go on: nobody is signed in any more, may not read it, or what it was about is gone. */
  onRefused?: () => void;
  /** The last event that is known. */
  lastEventId?: string;
  /** Sends the requests, where they need more than the browser adds. */
  send?: typeof fetch;
};

const firstWait = 500;
const longestWait = 5_000; // somebody looks at what it shows
const silence = 40_000; // a comment comes every 15 seconds

/** Reads a stream, and comes back when it breaks off, as when the gateway restarts. Returns what ends it. */
export function follow(address: string, { onEvent, onState = () => {}, onRefused = () => {}, lastEventId = "", send = fetch }: Follow): () => void {
  const ended = new AbortController();
  let last = lastEventId;
  let wait = firstWait;

  /** Reads until the stream ends; false where it is not worth to come back. */
  const once = async (): Promise<boolean> => {
    const broken = new AbortController();
    const stop = () => broken.abort();
    ended.signal.addEventListener("abort", stop);
    let timer = setTimeout(stop, silence);
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (last) headers["Last-Event-ID"] = last;
      const response = await send(address, { headers, signal: broken.signal, cache: "no-store" });
      if (response.status === 204) return false;
      if (!response.ok || !response.body) {
        const { status } = await errorOf(response);
        if (status === 401 || status === 403 || status === 404) onRefused();
        return status >= 500 || status === 429 || status === 408;
      }
      let isOver = false;
      let mayReturn = false; // `retry` comes with the end of a stream that is worth to come back to
      const read = eventReader(
        (event) => {
          if (event.event === "closed") {
            isOver = !mayReturn && codeOf(event.data) !== "stopping";
            if (isOver) onRefused();
            return;
          }
          mayReturn = false;
          if (event.id) last = event.id;
          onEvent(event);
        },
        (ms) => {
          mayReturn = true;
          wait = ms;
        },
      );
      onState("live");
      wait = firstWait;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        clearTimeout(timer);
        if (done) return !isOver;
        timer = setTimeout(stop, silence);
        read(value);
      }
    } catch {
      return !ended.signal.aborted;
    } finally {
      clearTimeout(timer);
      ended.signal.removeEventListener("abort", stop);
    }
  };

  const run = async () => {
    onState("connecting");
    while (!ended.signal.aborted) {
      if (!(await once())) break;
      onState("waiting");
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, longestWait);
    }
    if (!ended.signal.aborted) onState("ended");
  };
  void run();
  return () => ended.abort();
}

function codeOf(data: string): string {
  try {
    return (JSON.parse(data) as { code?: string }).code ?? "";
  } catch {
    return "";
  }
}
