import dagre from "@dagrejs/dagre";

type Size = { width: number; height: number };
type Place = { x: number; y: number };
type Box = Place & Size;
/** An edge with how far it begins below the top of its node. */
export type TidyEdge = { from: string; to: string; fromTop: number };
export type TidyRequest = {
  nodes: (Size & { id: string; parentId?: string; isBody: boolean })[];
  edges: TidyEdge[];
  inset: { x: number; top: number; bottom: number };
  empty: Size;
  grid: number;
};

/** Lays out each body by itself, the innermost first, since a node is as large as its body. */
export function arrange({ nodes, edges, inset, empty, grid }: TidyRequest): Record<string, Place> {
  const places: Record<string, Place> = {};
  const layOut = (parentId: string | undefined): Size => {
    const members = nodes.filter((node) => node.parentId === parentId);
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: "LR", nodesep: 32, ranksep: 72 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const { id, width, height, isBody } of members) graph.setNode(id, isBody ? layOut(id) : { width, height });
    const own = new Set(members.map(({ id }) => id));
    const within = edges.filter(({ from, to }) => own.has(from) && own.has(to));
    for (const { from, to } of within) graph.setEdge(from, to);
    if (members.length === 0) return { ...empty };
    const ports = new Map(within.map(({ from, to, fromTop }) => [`${from} ${to}`, fromTop / graph.node(from).height]));
    dagre.layout(graph, {
      customOrder: (layered, order) => {
        order(layered, {});
        untangle(layered, ports);
      },
    });
    const boxes = new Map<string, Box>();
    for (const { id } of members) {
      const { x, y, width, height } = graph.node(id);
      boxes.set(id, { x: x - width / 2, y: y - height / 2, width, height });
    }
    const all = [...boxes.values()];
    const [left, top] = [Math.min(...all.map(({ x }) => x)), Math.min(...all.map(({ y }) => y))];
    const corner = parentId === undefined ? { x: 0, y: 0 } : { x: inset.x, y: inset.top };
    const snap = (at: number) => Math.round(at / grid) * grid;
    for (const [id, { x, y }] of boxes) places[id] = { x: snap(x - left + corner.x), y: snap(y - top + corner.y) };
    return {
      width: Math.max(empty.width, Math.max(...all.map(({ x, width }) => x + width)) - left + 2 * inset.x),
      height: Math.max(empty.height, Math.max(...all.map(({ y, height }) => y + height)) - top + inset.top + inset.bottom),
    };
  };
  layOut(undefined);
  return places;
}

type Layered = InstanceType<typeof dagre.graphlib.Graph>;
type LayerNode = { rank: number; order: number; dummy?: string; edgeObj?: { v: string; w: string } };

const sweeps = 8;

/**
 * Changes the order within columns, by the mean of what nodes are connected with, as long as fewer edges cross. dagre has done so, too, but does not
 * know that a node has several outputs, one below the other.
 */
function untangle(graph: Layered, ports: Map<string, number>) {
  const node = (id: string) => graph.node(id) as unknown as LayerNode;
  const last = Math.max(...graph.nodes().map((id) => node(id).rank));
  const layers: string[][] = Array.from({ length: last + 1 }, () => []);
  for (const id of graph.nodes()) layers[node(id).rank]?.push(id);
  const edges = graph.edges().map(({ v, w }) => {
    const original = node(w).dummy ? node(w).edgeObj : { v, w }; // edges over several columns lead from one to the next
    return { v, w, port: (original?.v === v && ports.get(`${v} ${original.w}`)) || 0.5 };
  });
  const source = ({ v, port }: (typeof edges)[number]) => node(v).order + port;
  const into = groupedBy(edges, ({ w }) => w);
  const outOf = groupedBy(edges, ({ v }) => v);
  const between = layers.map((_, rank) => edges.filter(({ v }) => node(v).rank === rank)); // a column and the next one
  const crossed = () => {
    let count = 0;
    for (const some of between) {
      const lines = some.map((edge) => [source(edge), node(edge.w).order] as const).sort(([a, x], [b, y]) => a - b || x - y);
      for (const [at, [start, end]] of lines.entries())
        for (let i = at + 1; i < lines.length; i++) if ((lines[i]?.[0] ?? start) > start && (lines[i]?.[1] ?? end) < end) count++;
    }
    return count;
  };
  const orderBy = (layer: string[] | undefined, meanOf: (id: string) => number[]) => {
    const keys = new Map(layer?.map((id) => [id, mean(meanOf(id)) ?? node(id).order]));
    layer?.sort((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0) || node(a).order - node(b).order);
    for (const [at, id] of layer?.entries() ?? []) node(id).order = at;
  };
  let [best, bestOrder] = [crossed(), graph.nodes().map((id) => node(id).order)];
  for (let sweep = 0; sweep < sweeps && best > 0; sweep++) {
    if (sweep % 2 === 0) for (const layer of layers) orderBy(layer, (id) => (into.get(id) ?? []).map(source));
    else for (const layer of layers.toReversed()) orderBy(layer, (id) => (outOf.get(id) ?? []).map(({ w, port }) => node(w).order - port / 1_000));
    const now = crossed();
    if (now < best) [best, bestOrder] = [now, graph.nodes().map((id) => node(id).order)];
  }
  for (const [at, id] of graph.nodes().entries()) node(id).order = bestOrder[at] as number;
}

function groupedBy<T>(all: T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(keyOf(one));
    if (group) group.push(one);
    else groups.set(keyOf(one), [one]);
  }
  return groups;
}

const mean = (all: number[]) => (all.length > 0 ? all.reduce((sum, one) => sum + one, 0) / all.length : undefined);
