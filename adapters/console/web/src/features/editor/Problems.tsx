import { useLingui } from "@lingui/react/macro";
import { useReactFlow } from "@xyflow/react";
import { CircleAlert, TriangleAlert, X } from "lucide-react";
import { IconButton } from "@/ui";
import { useEditor, useGraph } from "./context";
import type { Finding } from "./findings";
import { focusOnButton } from "./keys";

/** What the server found; each leads to where it is. */
export default function Problems() {
  const { t } = useLingui();
  const { findings, view } = useEditor();
  const { nodes, edges } = useGraph();
  const { fitView } = useReactFlow();
  const nameOf = ({ of, id = "" }: Finding) => {
    if (of === "node") return nodes[id]?.name;
    const edge = of && edges[id];
    return edge ? `${nodes[edge.sourceNodeId]?.name} → ${nodes[edge.targetNodeId]?.name}` : undefined;
  };
  const show = ({ of, id = "" }: Finding) => {
    if (!of) return;
    const edge = edges[id];
    view.setState({ nodes: of === "node" ? [id] : [], edges: of === "edge" ? [id] : [], adding: undefined });
    const shown = of === "node" ? [id] : edge ? [edge.sourceNodeId, edge.targetNodeId] : [];
    void fitView({ nodes: shown.map((one) => ({ id: one })), maxZoom: 1, duration: 200 });
  };
  const close = () => {
    view.setState({ isListingProblems: false });
    focusOnButton("problems");
  };
  const sorted = [...findings].sort((a, b) => Number(a.isWarning) - Number(b.isWarning));
  return (
    <section aria-label={t`Problems`} className="flex max-h-48 flex-col border-t border-line bg-panel">
      <header className="flex items-center gap-2 py-1 pr-2 pl-4">
        <h2 className="flex-1 font-semibold">{t`Problems`}</h2>
        <IconButton icon={X} label={t`Close the problems`} onClick={close} />
      </header>
      <ul className="min-h-0 overflow-y-auto px-2 pb-2">
        {sorted.map((finding) => (
          <li key={`${finding.of} ${finding.id} ${finding.path} ${finding.message}`}>
            <button type="button" onClick={() => show(finding)} className="flex w-full items-start gap-2 rounded px-2 py-1 text-left hover:bg-hover">
              {finding.isWarning ? (
                <TriangleAlert aria-label={t`Warning`} className="mt-0.5 size-4 shrink-0 text-warn" />
              ) : (
                <CircleAlert aria-label={t`Problem`} className="mt-0.5 size-4 shrink-0 text-danger" />
              )}
              <span className="min-w-0">
                {nameOf(finding) && <span className="font-medium">{nameOf(finding)}: </span>}
                {finding.path && <code>{finding.path}</code>} {finding.message}
              </span>
            </button>
          </li>
        ))}
        {findings.length === 0 && <li className="px-2 py-1 text-quiet">{t`Nothing stands against publishing.`}</li>}
      </ul>
    </section>
  );
}
