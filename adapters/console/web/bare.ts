// React Flow alone with as many plain nodes as the address says, which the editor is compared with in the browser's tests.
import "@xyflow/react/dist/style.css";
import { ReactFlow } from "@xyflow/react";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

const count = Number(new URLSearchParams(location.search).get("nodes"));
const nodes = Array.from({ length: count }, (_, at) => ({
  id: `n${at}`,
  position: { x: (at % 25) * 280, y: Math.floor(at / 25) * 130 },
  data: { label: `Step ${at}` },
  width: 208,
  height: 56,
}));
const edges = nodes.slice(1).map(({ id }, at) => ({ id: `e${at}`, source: `n${at}`, target: id }));
const box = document.getElementById("root") as HTMLElement;
createRoot(box).render(
  createElement(ReactFlow, { defaultNodes: nodes, defaultEdges: edges, fitView: true, minZoom: 0.1, onlyRenderVisibleElements: true }),
);
