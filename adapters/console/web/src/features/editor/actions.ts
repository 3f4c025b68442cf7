import { type NodeType, newNode, rememberType } from "./catalogue";
import { containerAt, freePlace, inset, placeBehind, placeOf, sizesOf } from "./layout";
import { clipOf, type EdgeChange, type Editing, type Ends, type Graph, leads, readClip, writeClip } from "./model";
import type { Target, ViewStore } from "./view";

type Place = { x: number; y: number };
type Editor = { editing: Editing; view: ViewStore };
const graphOf = ({ editing }: Editor) => editing.store.getState().history.graph;
const gap = 72;

/** A place of the canvas as a body counts it; nothing stands on its head or its border. */
function within(graph: Graph, place: Place, parentId: string | undefined): Place {
  if (!parentId) return place;
  const corner = placeOf(graph, parentId);
  return { x: Math.max(inset.x, place.x - corner.x), y: Math.max(inset.top, place.y - corner.y) };
}

/** Where a new node goes, and in which body. */
function placeFor(graph: Graph, { insertion, into, at }: Target): { place: Place; parentId?: string } {
  if (at) return { place: freePlace(graph, within(graph, at, into), into), parentId: into };
  if (into) return { place: freePlace(graph, { x: inset.x, y: inset.top }, into), parentId: into };
  if (insertion) {
    const before = "after" in insertion ? insertion.after : graph.edges[insertion.edge]?.sourceNodeId;
    if (before && graph.nodes[before])
      return { place: "edge" in insertion ? behind(graph, before) : placeBehind(graph, before), parentId: graph.nodes[before].parentId };
  }
  const last = Object.values(graph.nodes).filter(({ parentId }) => !parentId);
  const right = last.sort((a, b) => b.position.x - a.position.x)[0];
  return { place: right ? placeBehind(graph, right.id) : { x: 0, y: 0 } };
}

/** The place straight behind a node, where others may stand, which make room. */
function behind(graph: Graph, id: string): Place {
  const { x, y } = graph.nodes[id]?.position ?? { x: 0, y: 0 };
  return { x: x + (sizesOf(graph).get(id)?.width ?? 0) + gap, y };
}

/** Adds a node of a type, where the palette was opened for or where it was dropped, and selects it. */
export function addNode(editor: Editor, entry: NodeType, dropped?: Target) {
  const { editing, view } = editor;
  const graph = graphOf(editor);
  const target = dropped ?? view.getState().adding ?? {};
  const { place, parentId } = placeFor(graph, target);
  const node = newNode(graph, entry, place, parentId);
  const { insertion } = target;
  editing.run({ do: "add", node, insertion }, `add:${node.id}`);
  if (insertion && "edge" in insertion) makeRoom(editor, node.id, graph.edges[insertion.edge]?.targetNodeId);
  rememberType(entry.type);
  view.setState({ nodes: [node.id], edges: [], adding: undefined, takesFocus: true });
}

/** Moves what follows a new node to the right, as far as it takes. */
function makeRoom(editor: Editor, id: string, next: string | undefined) {
  const graph = graphOf(editor);
  const [node, after] = [graph.nodes[id], next === undefined ? undefined : graph.nodes[next]];
  if (!node || !after) return;
  const needed = node.position.x + (sizesOf(graph).get(id)?.width ?? 0) + gap - after.position.x;
  if (needed <= 0) return;
  const behind = Object.values(graph.nodes).filter((one) => one.parentId === after.parentId && leads(graph, after.id, one.id));
  editor.editing.run({ do: "move", to: Object.fromEntries(behind.map(({ id, position: { x, y } }) => [id, { x: x + needed, y }])) }, `add:${id}`);
}

export function removeSelected({ editing, view }: Editor) {
  const { nodes, edges } = view.getState();
  editing.run({ do: "remove", nodes, edges });
  view.setState({ nodes: [], edges: [] });
}

/** Changes an edge, which stays selected though its key may be another one then. Letters in a row are one step. */
export function changeEdge(editor: Editor, id: string, change: EdgeChange) {
  const { edges } = graphOf(editor);
  const edge = edges[id];
  if (!edge) return;
  editor.editing.run({ do: "changeEdge", edge: id, change }, `edge:${edge.sourceNodeId}:${edge.targetNodeId}`);
  editor.view.setState({ edges: [Object.keys(graphOf(editor).edges).find((key) => !(key in edges)) ?? id] });
}

/** Leads an edge from or to another node. It stays selected. */
export function reconnect(editor: Editor, id: string, to: Ends) {
  const { edges } = graphOf(editor);
  editor.editing.run({ do: "reconnect", edge: id, to });
  editor.view.setState({ nodes: [], edges: [Object.keys(graphOf(editor).edges).find((key) => !(key in edges)) ?? id] });
}

/** Moves what is selected by keys: presses in a row are one step. */
export function nudge(editor: Editor, { x, y }: Place) {
  const graph = graphOf(editor);
  const chosen = editor.view.getState().nodes.flatMap((id) => graph.nodes[id] ?? []);
  editor.editing.run(
    { do: "move", to: Object.fromEntries(chosen.map(({ id, position }) => [id, { x: position.x + x, y: position.y + y }])) },
    "nudge",
  );
}

/** Ends a drag: nodes stay where they are, or get into the body that they were dropped on, or out of one. */
export function drop(editor: Editor, places: Record<string, Place>) {
  const graph = graphOf(editor);
  const ids = Object.keys(places);
  const sizes = sizesOf(graph);
  const to: Record<string, Place> = {};
  const bodies = new Set<string | undefined>();
  for (const id of ids) {
    const node = graph.nodes[id];
    const size = sizes.get(id);
    if (!node || !size) continue;
    const corner = node.parentId ? placeOf(graph, node.parentId) : { x: 0, y: 0 };
    const { x, y } = places[id] as Place;
    const place = { x: x + corner.x, y: y + corner.y };
    const body = containerAt(graph, { x: place.x + size.width / 2, y: place.y + Math.min(size.height / 2, inset.top) }, ids);
    bodies.add(body);
    to[id] = within(graph, place, body);
  }
  const [body] = bodies;
  const isSame = ids.every((id) => graph.nodes[id]?.parentId === body);
  if (bodies.size === 1 && !isSame) editor.editing.run({ do: "putInto", nodes: ids, parentId: body, to });
  else editor.editing.run({ do: "move", to: bodies.size === 1 ? to : places });
}

export function copySelected(editor: Editor): string | undefined {
  const { nodes } = editor.view.getState();
  return nodes.length > 0 ? writeClip(clipOf(graphOf(editor), nodes)) : undefined;
}

/** Pastes nodes that were copied, here or in another window. Says whether there were any. */
export function pasteText(editor: Editor, text: string, at?: Place): boolean {
  const clip = readClip(text);
  if (!clip) return false;
  const before = graphOf(editor);
  const [first] = clip.nodes;
  const place = freePlace(before, at ?? { x: (first?.position.x ?? 0) + 48, y: (first?.position.y ?? 0) + 48 });
  editor.editing.run({ do: "paste", clip, at: place });
  const added = Object.keys(graphOf(editor).nodes).filter((id) => !before.nodes[id]);
  editor.view.setState({ nodes: added, edges: [] });
  return true;
}
