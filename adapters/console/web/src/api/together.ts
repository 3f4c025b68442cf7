import { follow, type StreamEvent, type StreamState } from "./stream";

type Follow = { onEvent: (event: StreamEvent) => void; onState: (state: StreamState) => void; onRefused: () => void };
type Message = { event: StreamEvent } | { state: StreamState } | "what is the state?";

/**
 * Follows a stream for all tabs of the browser, which opens six connections to a server and no more (HTTP/1.1): one tab reads it, and tells the
 * others. When that one is closed the next one goes on, behind the last event that it has heard of. Who is refused leaves the stream to the others,
 * which are refused themselves.
 */
export function followTogether(address: string, { onEvent, onState, onRefused }: Follow): () => void {
  if (!("locks" in navigator)) return follow(address, { onEvent, onState, onRefused }); // not by TLS, and not from this machine
  const ended = new AbortController();
  const channel = new BroadcastChannel(`sluice ${address}`);
  let lastEventId: string | undefined;
  let state: StreamState = "connecting";
  let isReading = false;

  const take = (message: Message) => {
    if (message === "what is the state?") {
      if (isReading) channel.postMessage({ state } satisfies Message);
    } else if ("state" in message) {
      state = message.state;
      onState(state);
    } else {
      if (message.event.id) lastEventId = message.event.id;
      onEvent(message.event);
    }
  };
  const tell = (message: Message) => {
    take(message);
    channel.postMessage(message);
  };
  channel.onmessage = ({ data }) => take(data as Message);
  channel.postMessage("what is the state?" satisfies Message);

  /** Reads the stream until it is over, or this tab has enough of it. */
  const read = () =>
    new Promise<void>((done) => {
      isReading = true;
      const stop = follow(address, {
        lastEventId,
        onEvent: (event) => tell({ event }),
        onState: (next) => {
          if (next !== "ended") return tell({ state: next });
          take({ state: next });
          done();
        },
        onRefused,
      });
      ended.signal.addEventListener("abort", () => {
        stop();
        done();
      });
    }).finally(() => {
      isReading = false;
    });
  // Who has the lock reads.
  navigator.locks.request(`sluice ${address}`, { signal: ended.signal }, read).catch((failure) => {
    if (!ended.signal.aborted) throw failure;
  });
  return () => {
    ended.abort();
    channel.close();
  };
}
