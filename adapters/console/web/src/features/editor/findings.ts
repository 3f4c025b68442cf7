import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { useStore } from "zustand";
import { ApiError, type Schemas, useTenant } from "@/api";
import { type Editing, type Graph, same } from "./model";
import { refusalOf } from "./server";

/** Something that the server finds: of a node, of an edge, or of the whole version. */
export type Finding = { of?: "node" | "edge"; id?: string; path: string; message: string; isWarning: boolean };
export type Findings = Finding[];

const none: Findings = [];

type Found = Pick<Schemas["Violation"], "field" | "message">;

/** Says what findings are about: the server counts the nodes and edges as they were sent. */
export function placed(found: Found[], isWarning: boolean, { nodes, edges }: Graph): Findings {
  const [ids, keys] = [Object.keys(nodes), Object.keys(edges)];
  return found.map(({ field, message }) => {
    const [, list, at, path = ""] = field.match(/^(nodes|edges)\[(\d+)\]\.?(.*)$/) ?? [];
    const id = list === "nodes" ? ids[Number(at)] : list === "edges" ? keys[Number(at)] : undefined;
    return id === undefined ? { path: field, message, isWarning } : { of: list === "nodes" ? "node" : "edge", id, path, message, isWarning };
  });
}

export const findingsOf = (findings: Findings, of: "node" | "edge", id: string) => findings.filter((one) => one.of === of && one.id === id);

/** Asks the server about the version as it was saved last. What it finds depends on connections and other workflows, too. */
export function validation(client: ReturnType<typeof useTenant>["client"], editing: Editing) {
  const { versionId, etag, base } = editing.store.getState();
  return {
    queryKey: ["editor", "validate", versionId, etag],
    queryFn: async (): Promise<Findings> => {
      const { data } = await client.POST("/workflow-versions/{id}/validate", { params: { path: { id: versionId } } });
      const { details = [], warnings = [] } = data ?? {};
      return [...placed(details, false, base), ...placed(warnings, true, base)];
    },
  };
}

/** Why the gateway did not take what was sent last. */
export function refused(failure: unknown, sent: Graph | undefined): Findings {
  if (!(failure instanceof ApiError) || !sent || refusalOf(failure) !== "refused") return none;
  return failure.details.length > 0 ? placed(failure.details, false, sent) : [{ path: "", message: failure.message, isWarning: false }];
}

/** What stands against saving, or else against publishing the version as it was saved last, and what is hardly meant. */
export function useServerFindings(editing: Editing): Findings {
  const { client, may } = useTenant();
  const versionId = useStore(editing.store, (session) => session.versionId);
  useStore(editing.store, (session) => session.etag); // each state is asked about
  const { data = none } = useQuery({
    ...validation(client, editing),
    enabled: versionId !== "" && may("workflows:write"),
    placeholderData: keepPreviousData,
  });
  const graph = useStore(editing.store, ({ history }) => history.graph);
  const failure = useStore(editing.store, (session) => session.failure);
  const failed = useStore(editing.store, (session) => session.failed);
  const last = useRef(none);
  return useMemo(() => {
    const against = refused(failure, failed);
    const others = data.filter(
      ({ of, id, path, message }) => !against.some((one) => one.of === of && one.id === id && one.path === path && one.message === message),
    );
    const found = [...against, ...others].filter(({ of, id = "" }) => !of || (of === "node" ? id in graph.nodes : id in graph.edges));
    // What is found again is the same list as before, so that not every node is rendered for it.
    if (!same(last.current, found)) last.current = found;
    return last.current;
  }, [data, graph, failure, failed]);
}
