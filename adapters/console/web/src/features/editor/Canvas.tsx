import "@xyflow/react/dist/base.css";
import { useLingui } from "@lingui/react/macro";
import {
  Background,
  type Connection,
  Controls,
  type Edge,
  type FinalConnectionState,
  MiniMap,
  ReactFlow,
  useReactFlow,
  useStore,
} from "@xyflow/react";
import { Plus } from "lucide-react";
import { type DragEvent, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "@/ui";
import { addNode, drop, reconnect } from "./actions";
import { useEditor, useGraph, useIsReadOnly, useView } from "./context";
import { useCanvasKeys } from "./keys";
import { card, containerAt, grid, placeOf } from "./layout";
import { canReconnect, type Ends, type Graph, refusal } from "./model";
import { NodeBody, NodeCard } from "./NodeCard";
import { dragged as draggedType } from "./Palette";
import { newShower, outputOf, type ShownEdge, type ShownNode } from "./shown";
import { farAway, Wire } from "./Wire";

const nodeTypes = { card: NodeCard, body: NodeBody };
const edgeTypes = { wire: Wire };
const snap: [number, number] = [grid, grid];
const margin = 56; // pixels between a new node and the border of the canvas
const manyNodes = 40; // from which a map of the whole graph helps

/** The graph, to be drawn by mouse, touch and keys. */
export function Canvas() {
  const { t } = useLingui();
  const editor = useEditor();
  const { editing, view, types } = editor;
  const graph = useGraph();
  const isReadOnly = useIsReadOnly();
  const selectedNodes = useView(({ nodes }) => nodes);
  const selectedEdges = useView(({ edges }) => edges);
  const { screenToFlowPosition } = useReactFlow();
  const [places, setPlaces] = useState<Record<string, { x: number; y: number }>>({}); // of nodes while they are dragged
  const [shower] = useState(newShower);
  const nodes = useMemo(() => shower.nodesOf(graph, selectedNodes, places), [shower, graph, selectedNodes, places]);
  const edges = useMemo(() => shower.edgesOf(graph, selectedEdges), [shower, graph, selectedEdges]);
  const box = useRef<HTMLElement>(null);
  useCanvasKeys(box);
  useTouchedEnds(box);
  useReveal(box, graph, selectedNodes);

  const endDrag = (moved: ShownNode[]) => {
    if (Object.keys(places).length > 0)
      drop(
        editor,
        Object.fromEntries(
          moved.filter(({ parentId }) => !parentId || !moved.some(({ id }) => id === parentId)).map(({ id, position }) => [id, position]),
        ),
      );
    setPlaces({});
  };
  const placeOfMouse = (event: MouseEvent | TouchEvent | DragEvent) => {
    const { clientX, clientY } = "changedTouches" in event ? (event.changedTouches[0] as Touch) : event;
    return screenToFlowPosition({ x: clientX, y: clientY });
  };
  const reconnected = useRef<string>(undefined); // the edge that is dragged by one of its ends
  const endsOf = ({ source, target, sourceHandle }: Connection | Edge): Ends => ({
    sourceNodeId: source,
    targetNodeId: target,
    sourceOutputKey: outputOf(sourceHandle),
  });
  const isPossible = (connection: Connection | Edge) =>
    reconnected.current ? canReconnect(graph, reconnected.current, endsOf(connection)) : !refusal(graph, endsOf(connection));
  /** Whoever lets go of an edge over nothing is asked what it shall lead to. */
  const endConnection = (event: MouseEvent | TouchEvent, { fromNode, fromHandle, toNode }: FinalConnectionState) => {
    if (reconnected.current || !fromNode || fromHandle?.type !== "source" || toNode) return;
    const { x, y } = placeOfMouse(event);
    const into = graph.nodes[fromNode.id]?.parentId;
    view.setState({ adding: { insertion: { after: fromNode.id, output: outputOf(fromHandle.id) }, into, at: { x, y: y - card.height / 2 } } });
  };
  const dropType = (event: DragEvent) => {
    event.preventDefault();
    const entry = types.find(({ type }) => type === event.dataTransfer.getData(draggedType));
    const place = placeOfMouse(event);
    if (entry) addNode(editor, entry, { at: { x: place.x - card.width / 2, y: place.y - card.height / 2 }, into: containerAt(graph, place, []) });
  };

  return (
    <section ref={box} id="nodes" tabIndex={-1} aria-label={t`Graph`} className="relative outline-none min-h-0 min-w-0 flex-1 bg-bg">
      <ReactFlow<ShownNode, ShownEdge>
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        onNodesChange={(changes) => {
          const moved = changes.flatMap((change) =>
            change.type === "position" && change.position && change.dragging ? [[change.id, change.position] as const] : [],
          );
          if (moved.length > 0) setPlaces((now) => ({ ...now, ...Object.fromEntries(moved) }));
          const chosen = new Set(view.getState().nodes);
          const before = [...chosen].join();
          for (const change of changes) if (change.type === "select") change.selected ? chosen.add(change.id) : chosen.delete(change.id);
          if ([...chosen].join() !== before) view.setState({ nodes: [...chosen], adding: undefined });
        }}
        onEdgesChange={(changes) => {
          const chosen = new Set(view.getState().edges);
          const before = [...chosen].join();
          for (const change of changes) if (change.type === "select") change.selected ? chosen.add(change.id) : chosen.delete(change.id);
          if ([...chosen].join() !== before) view.setState({ edges: [...chosen], adding: undefined });
        }}
        onNodeDragStop={(_, __, moved) => endDrag(moved)}
        onSelectionDragStop={(_, moved) => endDrag(moved)}
        onConnect={(connection) => editing.run({ do: "connect", edge: endsOf(connection) })}
        onConnectEnd={endConnection}
        onReconnectStart={(_, { id }) => {
          reconnected.current = id;
        }}
        onReconnect={({ id }, connection) => reconnect(editor, id, endsOf(connection))}
        onReconnectEnd={() => {
          reconnected.current = undefined;
        }}
        edgesReconnectable={!isReadOnly}
        reconnectRadius={isTouched ? 20 : 12}
        isValidConnection={isPossible}
        onDragOver={(event) => event.preventDefault()}
        onDrop={dropType}
        onPaneClick={() => view.setState({ nodes: [], edges: [], adding: undefined })}
        nodesDraggable={!isReadOnly}
        nodesConnectable={!isReadOnly}
        snapToGrid
        snapGrid={snap}
        deleteKeyCode={null}
        disableKeyboardA11y
        multiSelectionKeyCode={["Shift", "Meta", "Control"]}
        connectionRadius={28}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.15 }}
        minZoom={0.1}
        onlyRenderVisibleElements
        proOptions={{ hideAttribution: true }}
        ariaLabelConfig={{
          "controls.zoomIn.ariaLabel": t`Zoom in`,
          "controls.zoomOut.ariaLabel": t`Zoom out`,
          "controls.fitView.ariaLabel": t`Show everything`,
          "minimap.ariaLabel": t`Map of the graph`,
        }}
      >
        <Dots />
        <Controls
          showInteractive={false}
          className="overflow-hidden rounded-md border border-line bg-panel shadow-sm [&>button]:flex [&>button]:size-8 [&>button]:items-center [&>button]:justify-center [&>button]:hover:bg-hover [&_svg]:size-3.5 [&_svg]:fill-current"
        />
        {nodes.length >= manyNodes && <MiniMap pannable zoomable className="max-md:hidden" />}
      </ReactFlow>
      {nodes.length === 0 && !isReadOnly && <Beginning onAdd={() => view.setState({ adding: {} })} />}
    </section>
  );
}

const isTouched = matchMedia("(pointer: coarse)").matches;

const mouse = (target: EventTarget, type: string, { clientX, clientY }: { clientX: number; clientY: number }) =>
  target.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true, button: 0, clientX, clientY }));

const nowhere = { clientX: -10_000, clientY: -10_000 };

/** Lets a finger drag the ends of edges, too: React Flow follows it, but begins with a mouse alone. */
function useTouchedEnds(box: RefObject<HTMLElement | null>) {
  useEffect(() => {
    const canvas = box.current;
    const begin = (event: TouchEvent) => {
      const [touch] = event.touches;
      const target = event.target as Element;
      if (!touch || event.touches.length > 1 || !target.closest(".react-flow__edgeupdater")) return;
      event.preventDefault(); // or the browser scrolls, or makes up a mouse afterwards
      const dragging = new AbortController();
      const move = ({ changedTouches: [at] }: TouchEvent) => at && !target.isConnected && mouse(document, "mousemove", at);
      const end = ({ type, changedTouches: [at] }: TouchEvent) => {
        dragging.abort();
        const isCancelled = type === "touchcancel";
        if (isCancelled) mouse(document, "mousemove", nowhere);
        if (isCancelled || !target.isConnected) mouse(document, "mouseup", isCancelled || !at ? nowhere : at);
      };
      // What a finger does arrives where it began, also after that has gone, because the view has moved on: then it reaches React Flow by the document alone.
      target.addEventListener("touchmove", move as EventListener, dragging);
      for (const type of ["touchend", "touchcancel"]) target.addEventListener(type, end as EventListener, dragging);
      mouse(target, "mousedown", touch);
    };
    canvas?.addEventListener("touchstart", begin, { passive: false });
    return () => canvas?.removeEventListener("touchstart", begin);
  }, [box]);
}

/** The grid. From far away its thousands of dots would be drawn anew with each frame, and be a grey haze. */
function Dots() {
  const isNear = useStore(({ transform: [, , zoom] }) => zoom > farAway);
  return isNear && <Background gap={grid * 3} color="var(--line)" />;
}

/** Moves the view to a node that was added next to it, or at which something happens in a simulation. */
function useReveal(box: RefObject<HTMLElement | null>, graph: Graph, selected: string[]) {
  const { getViewport, setViewport } = useReactFlow();
  const known = useRef(graph.nodes);
  const current = useView(({ simulated }) => simulated?.current);
  const shown = useRef(current);
  useEffect(() => {
    const [added = ""] = selected;
    const isNew = !(added in known.current) && added in graph.nodes && Object.keys(known.current).length > 0;
    const id = current !== shown.current && current && current in graph.nodes ? current : isNew ? added : undefined;
    known.current = graph.nodes;
    shown.current = current;
    if (id === undefined || !box.current) return;
    const { x, y, zoom } = getViewport();
    const place = placeOf(graph, id);
    const { clientWidth, clientHeight } = box.current;
    const shift = (from: number, size: number, limit: number) => Math.min(0, limit - margin - (from + size)) || Math.max(0, margin - from);
    const dx = shift(place.x * zoom + x, card.width * zoom, clientWidth);
    const dy = shift(place.y * zoom + y, card.height * zoom, clientHeight);
    if (dx !== 0 || dy !== 0) void setViewport({ x: x + dx, y: y + dy, zoom }, { duration: 200 });
  }, [box, graph, selected, current, getViewport, setViewport]);
}

function Beginning({ onAdd }: { onAdd: () => void }) {
  const { t } = useLingui();
  return (
    <div className="pointer-events-none absolute inset-0 flex items-center justify-center p-6">
      <div className="pointer-events-auto flex max-w-sm flex-col items-center gap-3 text-center">
        <p className="font-medium">{t`What shall happen first?`}</p>
        <p className="text-quiet">{t`Drag a node here, or choose one. Runs begin at the nodes that no edge leads to.`}</p>
        <Button look="primary" icon={Plus} label={t`Add the first node`} onClick={onAdd} />
      </div>
    </div>
  );
}
