import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useStore } from "zustand";
import { type Schemas, useTenant } from "@/api";
import type { Editing, Graph } from "./model";

/** Something that the server finds: of a node, of an edge, or of the whole version. */
export type Finding = { of?: "node" | "edge"; id?: string; path: string; message: string; isWarning: boolean };
export type Findings = Finding[];

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

const none: Findings = [];

/** What stands against publishing the version as it was saved last, and what is hardly meant. */
export function useServerFindings(editing: Editing): Findings {
  const { client, can } = useTenant();
  const versionId = useStore(editing.store, (session) => session.versionId);
  const etag = useStore(editing.store, (session) => session.etag);
  const { data } = useQuery({
    queryKey: ["editor", "validate", versionId, etag],
    enabled: versionId !== "" && can("editor"),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const { base } = editing.store.getState();
      const { data: answer } = await client.POST("/workflow-versions/{id}/validate", { params: { path: { id: versionId } } });
      const { details = [], warnings = [] } = answer ?? {};
      return [...placed(details, false, base), ...placed(warnings, true, base)];
    },
  });
  const graph = useStore(editing.store, ({ history }) => history.graph);
  return useMemo(() => data?.filter(({ of, id = "" }) => !of || (of === "node" ? id in graph.nodes : id in graph.edges)) ?? none, [data, graph]);
}
