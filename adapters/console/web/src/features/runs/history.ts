import { useEffect, useState } from "react";
import { base, follow, type Schemas, useTenant } from "@/api";

export type Entry = Schemas["HistoryEntry"];

/** The history of a run, entry by entry as it is recorded. A run that is retried goes on: `again` is how often it was. */
export function useHistory(runId: string, again: number): Entry[] {
  const { id } = useTenant();
  const [entries, setEntries] = useState<Entry[]>([]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a run that is retried goes on behind its end
  useEffect(() => {
    let waiting: Entry[] = [];
    let frame = 0;
    const show = () => {
      frame = 0;
      const next = waiting;
      waiting = [];
      setEntries((before) => [...before, ...next]);
    };
    setEntries([]);
    let last = "";
    let isOver = false;
    let stop = () => {};
    // A tab that nobody sees gives its connection to the others, of which a browser has six, and goes on where it was.
    const read = () => {
      stop();
      if (isOver || document.hidden) return;
      stop = follow(`${base}api/t/${id}/runs/${runId}/stream`, {
        lastEventId: last,
        onEvent: ({ id, event, data }) => {
          if (event === "end") {
            isOver = true;
            return stop();
          }
          last = id;
          waiting.push(JSON.parse(data) as Entry);
          frame ||= requestAnimationFrame(show); // thousands come at once
        },
      });
    };
    document.addEventListener("visibilitychange", read);
    read();
    return () => {
      document.removeEventListener("visibilitychange", read);
      stop();
      cancelAnimationFrame(frame);
    };
  }, [id, runId, again]);
  return entries;
}
