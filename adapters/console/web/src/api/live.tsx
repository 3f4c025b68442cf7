import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useEffect, useRef, useState } from "react";
import { base } from "./base";
import { useTenant } from "./session";
import { follow, type StreamState } from "./stream";

/** What the events of a tenant's stream say has changed: paths of queries begin with one of these. */
const changed: Record<string, string[]> = {
  run: ["/runs", "/jobs", "/overview"],
  pause: ["/pauses", "/overview"],
  delivery: ["/deliveries", "/webhook-endpoints"],
  version: ["/workflow-versions", "/workflows"],
};

const LiveContext = createContext<StreamState>("connecting");

/** How the stream of a tenant is. */
export const useLiveState = () => use(LiveContext);

/** Reads lists anew when the gateway says that something has changed in them. */
export function LiveProvider({ onRefused, children }: { onRefused: () => void; children: ReactNode }) {
  const { id } = useTenant();
  const queries = useQueryClient();
  const [state, setState] = useState<StreamState>("connecting");
  const refused = useRef(onRefused);
  refused.current = onRefused;
  useEffect(() => {
    const paths = new Set<string>();
    let everything = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refresh = () => {
      timer = undefined;
      const all = everything;
      const some = [...paths];
      everything = false;
      paths.clear();
      void queries.invalidateQueries({
        predicate: ({ queryKey }) => all || some.some((path) => typeof queryKey[1] === "string" && queryKey[1].startsWith(path)),
      });
    };
    const stop = follow(`${base}api/t/${id}/stream`, {
      onState: setState,
      onRefused: () => refused.current(),
      onEvent: ({ event }) => {
        if (event === "reset") everything = true;
        for (const path of changed[event] ?? []) paths.add(path);
        timer ??= setTimeout(refresh, 400); // many changes come together
      },
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [id, queries]);
  return <LiveContext value={state}>{children}</LiveContext>;
}
