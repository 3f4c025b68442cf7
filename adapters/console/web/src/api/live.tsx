import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useEffect, useRef, useState } from "react";
import { base } from "./base";
import { paced } from "./pace";
import { useTenant } from "./session";
import { followTogether } from "./sharedStream";
import type { StreamState } from "./stream";

/** What the events of a tenant's stream say has changed: paths of queries begin with one of these. */
const changed: Record<string, string[]> = {
  run: ["/runs", "/jobs", "/overview"],
  pause: ["/pauses", "/overview"],
  delivery: ["/deliveries", "/webhook-endpoints"],
  version: ["/workflow-versions", "/workflows"],
};

/** The runs that an event is about: the one that has changed, and the one that started it. */
function runsIn(data: string): string[] {
  const { id, runId, parentRunId } = JSON.parse(data) as Record<string, string | undefined>;
  return [id, runId, parentRunId].filter((one) => one !== undefined);
}

/** Says whether a query may show one of these runs: what is about a single run shows no other. */
function isOf(runs: Set<string>, path: string, init: unknown): boolean {
  if (!path.startsWith("/runs")) return true;
  const { path: inPath, query } = (init as { params?: { path?: { id?: string }; query?: { parentRunId?: string } } } | undefined)?.params ?? {};
  const one = inPath?.id ?? query?.parentRunId;
  return one === undefined || runs.has(one);
}

const LiveContext = createContext<StreamState>("connecting");

/** How the stream of a tenant is. */
export const useLiveState = () => use(LiveContext);

type Handlers = Parameters<typeof followTogether>[1];
type Props = {
  onRefused: () => void;
  /** Reads the stream; of a tenant whose member is signed in unless it is given. */
  open?: (handlers: Handlers) => () => void;
  children: ReactNode;
};

/** Reads lists anew when the gateway says that something has changed in them. */
export function LiveProvider({ onRefused, open, children }: Props) {
  const { id } = useTenant();
  const queries = useQueryClient();
  const [state, setState] = useState<StreamState>("connecting");
  const refused = useRef(onRefused);
  refused.current = onRefused;
  useEffect(() => {
    const paths = new Set<string>();
    const runs = new Set<string>();
    let everything = false;
    const pace = paced((isBack) => {
      const all = everything;
      const some = [...paths];
      const ids = new Set(runs);
      everything = false;
      paths.clear();
      runs.clear();
      // What is read already because the page is shown again is not read twice.
      void queries.invalidateQueries(
        {
          predicate: ({ queryKey: [, path, init] }) =>
            all || (typeof path === "string" && some.some((one) => path.startsWith(one)) && isOf(ids, path, init)),
        },
        { cancelRefetch: !isBack },
      );
    });
    const read = open ?? ((handlers: Handlers) => followTogether(`${base}api/t/${id}/stream`, handlers));
    const stop = read({
      onState: setState,
      onRefused: () => refused.current(),
      onEvent: ({ event, data }) => {
        if (event === "reset") everything = true;
        for (const path of changed[event] ?? []) paths.add(path);
        if (event === "run") for (const run of runsIn(data)) runs.add(run);
        pace.ask();
      },
    });
    const look = () => pace.pause(document.hidden);
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      stop();
      pace.stop();
      document.removeEventListener("visibilitychange", look);
    };
  }, [id, queries, open]);
  return <LiveContext value={state}>{children}</LiveContext>;
}
