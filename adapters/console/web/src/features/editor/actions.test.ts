import { expect, test } from "vitest";
import { changeEdge } from "./actions";
import { edgeKey, edit, emptyGraph, type Server } from "./model";
import { node } from "./model/fixtures";
import { newView } from "./view";

test("an edge stays selected while its key changes, and beside another one between the same ends", () => {
  const between = { sourceNodeId: "a", targetNodeId: "b" };
  const [first, second] = [edgeKey(between), edgeKey({ ...between, targetInputKey: "x" })];
  const graph = { ...emptyGraph, nodes: { a: node("a"), b: node("b") }, edges: { [first]: between, [second]: { ...between, targetInputKey: "x" } } };
  const editing = edit({} as Server, { versionId: "v1", etag: "1", graph });
  editing.stop();
  const view = newView();
  const edges = () => editing.store.getState().history.graph.edges;
  changeEdge({ editing, view }, first, { targetInputKey: "x" });
  expect(view.getState().edges).toEqual([`${second}2`]);
  expect(edges()[`${second}2`]).toEqual({ ...between, targetInputKey: "x" });
  changeEdge({ editing, view }, `${second}2`, { label: "mine" });
  expect(view.getState().edges).toEqual([`${second}2`]);
  expect(edges()).toEqual({ [second]: { ...between, targetInputKey: "x" }, [`${second}2`]: { ...between, targetInputKey: "x", label: "mine" } });
});
