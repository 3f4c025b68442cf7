import { follow, type StreamEvent, type StreamState } from "./stream";

type Follow = { onEvent: (event: StreamEvent) => void; onState: (state: StreamState) => void; onRefused: () => void };
type Message = { event: StreamEvent } | { state: StreamState } | "what is the state?";

/** How often a tab that somebody sees makes sure that another one reads, in milliseconds. Who has not answered by the next time hangs. */
const check = 10_000;

/**
 * Follows a stream for all tabs of the browser, which opens six connections to a server and no more (HTTP/1.1): one tab reads it, and tells the
 * others. When that one is closed or hangs, another one goes on behind the last event that it has heard of. Who is refused leaves the stream to the
 * others, which are refused themselves.
 */
export function followTogether(address: string, { onEvent, onState, onRefused }: Follow): () => void {
  if (!("locks" in navigator)) return follow(address, { onEvent, onState, onRefused }); // not by TLS, and not from this machine
  const channel = new BroadcastChannel(`sluice ${address}`);
  let turn = new AbortController(); // of waiting for the lock, and of reading
  let lastEventId: string | undefined;
  let state: StreamState = "connecting";
  let isReading = false;
  let isAnswered = true;

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
  channel.onmessage = ({ data }: { data: Message }) => {
    if (data !== "what is the state?") isAnswered = true;
    take(data);
  };
  channel.postMessage("what is the state?" satisfies Message);

  /** Reads the stream until it is over, or this tab has enough of it. */
  const read = (signal: AbortSignal) =>
    new Promise<void>((done) => {
      isReading = true;
      const stop = follow(address, {
        lastEventId,
        onEvent: (event) => tell({ event }),
        onState: (next) => {
          if (next !== "ended") return tell({ state: next });
          take({ state: next });
          clearInterval(watch);
          done();
        },
        onRefused,
      });
      signal.addEventListener("abort", () => {
        stop();
        done();
      });
    }).finally(() => {
      isReading = false;
    });
  /** Waits for the lock, or takes it from who has it. Who has it reads. */
  const join = (steal?: true) => {
    const mine = new AbortController();
    turn = mine;
    navigator.locks
      .request(`sluice ${address}`, steal ? { steal } : { signal: mine.signal }, () => read(mine.signal))
      .catch((failure) => {
        if (mine.signal.aborted) return;
        mine.abort();
        if (failure.name !== "AbortError") throw failure;
        join(); // this tab hung, and another one has taken over
      });
  };
  join();
  const watch = setInterval(() => {
    if (!isReading && !document.hidden && !isAnswered) {
      turn.abort();
      join(true);
    }
    isAnswered = isReading || document.hidden;
    if (!isAnswered) channel.postMessage("what is the state?" satisfies Message);
  }, check);
  return () => {
    turn.abort();
    clearInterval(watch);
    channel.close();
  };
}
