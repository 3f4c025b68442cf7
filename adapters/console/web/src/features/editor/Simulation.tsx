import { Trans, useLingui } from "@lingui/react/macro";
import { FlaskConical, Pause, Play, Rocket, RotateCcw, SkipBack, SkipForward, StepBack, StepForward, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { nodeStates, runStates } from "@/parts";
import { Button, duration, ErrorPanel, IconButton, inputLook, Scroll, StateBadge, toast, useShortcut } from "@/ui";
import { useEditor, useGraph, useView } from "./context";
import { focusOnButton } from "./keys";
import type { Graph } from "./model";
import { useOutputName } from "./NodeCard";
import { PastRun, useInitialEvent } from "./PastRun";
import RunVersion from "./RunVersion";
import { SimulatedAnswer } from "./SimulatedAnswer";
import { type ItemPlace, SimulatedItems } from "./SimulatedItems";
import {
  type Answer,
  type Answers,
  answerAt,
  answersUsed,
  graphStateAt,
  isAlike,
  parseJson,
  type Step,
  stepsOf,
  stillShown,
  withAnswer,
} from "./simulate";
import { Value } from "./Value";

type Done = {
  simulation: Schemas["Simulation"];
  graph: Graph;
  steps: Step[];
  answers: Answers;
  asked: Schemas["SimulateVersion"];
};

const pace = 900; // milliseconds a step, while it plays

/** Simulates the version on a virtual clock: what it would do stands on the graph, step by step, and people say what the world answers. */
export default function Simulation() {
  const { t } = useLingui();
  const { api, may } = useTenant();
  const { editing, view } = useEditor();
  const now = useGraph();
  const event = useView((shown) => shown.event) ?? "";
  useInitialEvent();
  const { isJson } = parseJson(event);
  const [startAt, setStartAt] = useState(() => new Date().toISOString());
  const [done, setDone] = useState<Done>();
  const [at, setAt] = useState(0);
  const [isPlaying, setPlaying] = useState(false);
  const [isRunning, setRunning] = useState(false);
  const next = useRef<HTMLButtonElement>(null);
  const choices = useRef(0); // of items; only the answer to the last one counts
  const { mutateAsync, error, isPending } = api.useMutation("post", "/workflow-versions/{id}/simulate");
  const last = (done?.steps.length ?? 1) - 1;

  useEffect(() => {
    view.setState({ simulated: done && graphStateAt(done.graph, done.simulation, done.steps, at) });
  }, [view, done, at]);
  useEffect(() => () => view.setState({ simulated: undefined }), [view]);
  useEffect(() => {
    if (!isPlaying) return;
    if (at >= last) return setPlaying(false);
    const timer = setTimeout(() => setAt(at + 1), pace);
    return () => clearTimeout(timer);
  }, [isPlaying, at, last]);

  const simulate = async (given: Answers, to: number, from = startAt) => {
    setPlaying(false);
    if (!isJson) return toast(t`The event is no JSON.`);
    if (!(await editing.flush())) return toast(t`The last changes could not be saved.`);
    const { versionId, history } = editing.store.getState();
    const { graph } = history;
    const answers = Object.fromEntries(Object.entries(given).filter(([id]) => graph.nodes[id]));
    const item = to > 0 ? stillShown(graph, done?.asked.item) : undefined;
    const asked = { eventData: parseJson(event).value, startAt: from, answers, item };
    // What is wrong with it is shown by the panel, and what was there before stays.
    const simulation = await mutateAsync({ params: { path: { id: versionId } }, body: asked }).catch(() => undefined);
    if (!simulation) return;
    const steps = stepsOf(simulation.history);
    setDone({ simulation, graph, steps, answers, asked });
    setAt(Math.min(to, steps.length - 1));
    requestAnimationFrame(() => next.current?.focus());
  };
  const run = async () => ((await editing.flush()) ? setRunning(true) : toast(t`The last changes could not be saved.`));
  const begin = (answers: Answers) => {
    const from = new Date().toISOString();
    setStartAt(from);
    void simulate(answers, 0, from);
  };
  const answer = (nodeId: string, place: number, given: Answer | undefined, isForAll: boolean) => {
    if (done) void simulate(withAnswer(done.answers, nodeId, place, given, isForAll), at + 1);
  };
  const showItem = async (item: ItemPlace[]) => {
    if (!done || !(await editing.flush())) return;
    const { versionId, history } = editing.store.getState();
    if (!isAlike(done.graph, history.graph)) return;
    const choice = ++choices.current;
    const asked = { ...done.asked, item };
    const simulation = await mutateAsync({ params: { path: { id: versionId } }, body: asked }).catch(() => undefined);
    if (!simulation || choice !== choices.current) return;
    const steps = stepsOf(simulation.history);
    setDone((now) => (now?.answers === done.answers ? { ...done, simulation, steps, asked } : now)); // unless it was simulated anew meanwhile
    setAt((now) => Math.min(now, steps.length - 1));
  };
  const close = () => {
    view.setState({ isSimulating: false });
    focusOnButton("simulate");
  };
  const step = (to: number) => {
    setPlaying(false);
    setAt(Math.max(0, Math.min(last, to)));
  };
  useShortcut(done && { keys: "]", label: t`Next step`, run: () => step(at + 1) });
  useShortcut(done && { keys: "[", label: t`Step before`, run: () => step(at - 1) });

  return (
    <section aria-label={t`Simulation`} data-own-undo className="flex h-80 max-h-[55%] shrink-0 flex-col border-t border-line bg-panel">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line py-1 pr-2 pl-4">
        <h2 className="font-semibold">{t`Simulation`}</h2>
        {done && (
          <>
            <div className="flex">
              <IconButton icon={SkipBack} label={t`To the beginning`} aria-disabled={at === 0} onClick={() => step(0)} />
              <IconButton icon={StepBack} label={t`Step before`} aria-disabled={at === 0} onClick={() => step(at - 1)} />
              <IconButton
                icon={isPlaying ? Pause : Play}
                label={isPlaying ? t`Stop playing` : t`Play`}
                onClick={() => {
                  if (at >= last) setAt(0);
                  setPlaying(!isPlaying);
                }}
              />
              <IconButton ref={next} icon={StepForward} label={t`Next step`} aria-disabled={at >= last} onClick={() => step(at + 1)} />
              <IconButton icon={SkipForward} label={t`To the end`} aria-disabled={at >= last} onClick={() => step(last)} />
            </div>
            <StepPosition done={done} at={at} />
          </>
        )}
        <span className="flex-1" />
        {done && <RunResult done={done} />}
        <IconButton icon={X} label={t`Close the simulation`} onClick={close} />
      </header>
      <div className="min-h-0 flex-1 max-md:flex max-md:flex-col max-md:overflow-y-auto md:grid md:grid-cols-[22rem_1fr]">
        <Scroll label={t`What is tried`} className="flex flex-col gap-2 p-4 md:overflow-y-auto">
          <label htmlFor="simulated-event" className="font-medium">{t`Event, as JSON`}</label>
          <PastRun />
          <textarea
            id="simulated-event"
            rows={5}
            spellCheck={false}
            aria-invalid={!isJson || undefined}
            aria-describedby="simulated-event-problem"
            className={`${inputLook} shrink-0 font-mono`}
            value={event}
            onChange={({ target }) => view.setState({ event: target.value })}
          />
          <p id="simulated-event-problem" className="text-xs break-words text-danger empty:hidden">
            {!isJson && t`This must be JSON, such as {"amount": 1250}.`}
          </p>
          <div className="flex flex-wrap gap-2">
            <Button
              look="primary"
              icon={FlaskConical}
              label={t`Simulate`}
              isBusy={isPending}
              disabled={!isJson}
              onClick={() => begin(done?.answers ?? {})}
            />
            {done && Object.keys(done.answers).length > 0 && (
              <Button icon={RotateCcw} label={t`Without my answers`} disabled={!isJson} onClick={() => begin({})} />
            )}
            {may("runs:start") && <Button icon={Rocket} label={t`Run it for real`} disabled={!isJson} onClick={() => void run()} />}
          </div>
        </Scroll>
        <Scroll key={at} label={t`What happens`} className={`flex min-w-0 flex-col gap-3 p-4 md:overflow-y-auto ${done ? "max-md:order-first" : ""}`}>
          {error && <ErrorPanel error={error} />}
          {!done && (
            <p className="max-w-prose text-quiet">
              {t`The gateway runs what you see with this event on a virtual clock: waits pass at once, nothing is sent, and nothing is kept. You say what people and other systems answer; nodes with sample data give that.`}
            </p>
          )}
          {done && !isAlike(done.graph, now) && (
            <p className="text-warn">{t`The workflow has changed since. Simulate it again to see what it does now.`}</p>
          )}
          {done && <StepDetails done={done} at={at} isBusy={isPending} isAsBefore={isAlike(done.graph, now)} onAnswer={answer} onShow={showItem} />}
        </Scroll>
      </div>
      {isRunning && <RunVersion onClose={() => setRunning(false)} />}
    </section>
  );
}

const sinceStart = ({ steps }: Done, at: string) => Date.parse(at) - Date.parse(steps[0]?.[0].at ?? at);

/** Says what happens in a step. */
function useStepText() {
  const { t } = useLingui();
  const outputName = useOutputName();
  return ({ graph }: Done, [{ type, nodeId = "", attempt = 1, branch }]: Step): string => {
    const name = graph.nodes[nodeId]?.name ?? nodeId;
    switch (type) {
      case "run.started":
        return t`The run begins`;
      case "run.completed":
        return t`The run is completed`;
      case "run.failed":
        return t`The run fails`;
      case "node.started":
        return attempt > 1 ? t`${name}: attempt ${attempt} begins` : t`${name} begins`;
      case "node.retrying":
        return t`${name} fails, and is tried again`;
      case "node.waiting":
        return t`${name} waits`;
      case "node.completed":
        return branch === undefined ? t`${name} is completed` : t`${name}: ${outputName(branch)}`;
      case "node.failed":
        return t`${name} fails`;
      case "edge.failed":
        return t`An edge behind ${name} cannot be decided`;
      default:
        return type;
    }
  };
}

/** Which step it is, when it happens on the virtual clock, and what happens. */
function StepPosition({ done, at }: { done: Done; at: number }) {
  const { t } = useLingui();
  const said = useStepText();
  const step = done.steps[at];
  if (!step) return null;
  const after = duration(sinceStart(done, step[0].at));
  return (
    <p role="status" className="min-w-0">
      <span className="text-quiet tabular-nums">
        {t`Step ${at + 1} of ${done.steps.length}`} · <span title={step[0].at}>{t`after ${after}`}</span> ·{" "}
      </span>
      <span className="font-medium">{said(done, step)}</span>
    </p>
  );
}

/** What becomes of the whole run. */
function RunResult({ done }: { done: Done }) {
  const { t } = useLingui();
  const { status, open, effects } = done.simulation;
  const after = duration(sinceStart(done, done.steps.at(-1)?.[0].at ?? ""));
  return (
    <div className="flex items-center gap-2 text-quiet">
      {open.length > 0 ? <span className="text-warn">{t`It needs your answer`}</span> : <StateBadge of={runStates[status]} />}
      <span>{t`after ${after}`}</span>
      {effects.length > 0 && <span>{t`calls: ${effects.length}`}</span>}
    </div>
  );
}

type StepDetailsProps = {
  done: Done;
  at: number;
  isBusy: boolean;
  /** Whether the workflow is what was simulated. */
  isAsBefore: boolean;
  onShow: (item: ItemPlace[]) => Promise<void>;
  onAnswer: (nodeId: string, place: number, answer: Answer | undefined, isForAll: boolean) => void;
};

/** What a step is about: what the node got and gave, what would be sent, and what is to be answered. */
function StepDetails({ done, at, isBusy, isAsBefore, onAnswer, onShow }: StepDetailsProps) {
  const { t } = useLingui();
  const { simulation, graph, steps, answers } = done;
  const [entry] = steps[at] ?? [];
  const isLast = at === steps.length - 1;
  const node = simulation.nodes.find(({ nodeId }) => nodeId === entry?.nodeId);
  const effect = simulation.effects.find((one) => one.nodeId === entry?.nodeId && one.attempt === entry.attempt);
  const own = answerAt(graph, steps, at);
  const open = isLast ? simulation.open : [];
  const questions = useMemo(
    () => new Map(steps.flatMap(([{ nodeId, question }]) => (nodeId && question ? [[nodeId, question] as const] : []))),
    [steps],
  );
  if (!entry) return null;
  const { type, nodeId = "", code, message, until } = entry;
  const isEnded = type === "node.completed" || type === "node.failed";
  const outcome = (id: string, place: number, isOpen: boolean) => (
    <SimulatedAnswer
      isWaiting={simulation.nodes.some(({ nodeId, status }) => nodeId === id && status === "waiting")}
      key={`${id} ${place}`}
      node={graph.nodes[id]}
      question={questions.get(id)}
      given={answers[id]?.[place]}
      isOpen={isOpen}
      isBusy={isBusy}
      onAnswer={(answer, isForAll) => onAnswer(id, place, answer, isForAll)}
    />
  );
  return (
    <>
      {node && type.startsWith("node.") && (
        <p className="flex flex-wrap items-center gap-3">
          <span className="font-medium">{graph.nodes[nodeId]?.name ?? nodeId}</span>
          <StateBadge of={nodeStates[graphStateAt(graph, simulation, steps, at).nodes[nodeId] ?? "pending"]} />
          {until && (
            <span className="text-quiet">
              <Trans>at most until {duration(sinceStart(done, until))} after the beginning</Trans>
            </span>
          )}
        </p>
      )}
      {message && (
        <p className="break-words text-danger">
          <code>{code}</code> {message}
        </p>
      )}
      {node?.isHandled && type === "node.failed" && <p className="text-quiet">{t`An edge takes the failure, so the run goes on.`}</p>}
      {open.map((id) => outcome(id, answersUsed(graph, steps, answers, id), true))}
      {own !== undefined && !open.includes(nodeId) && outcome(nodeId, own, false)}
      <SimulatedItems
        simulation={simulation}
        graph={graph}
        nodeId={nodeId}
        shown={done.asked.item ?? []}
        isDisabled={!isAsBefore}
        onShow={(item) => void onShow(item)}
      />
      <div className="grid gap-3 lg:grid-cols-2">
        {type === "run.started" && <Value title={t`Event`} value={simulation.context.data.input} />}
        {type === "run.completed" && <Value title={t`Output of the run`} value={simulation.output} />}
        {type.startsWith("node.") && <Value title={t`Input`} value={node?.input} />}
        {effect && type === "node.started" && <Value title={t`What would be sent`} value={effect.config} />}
        {isEnded && <Value title={t`Output`} value={node?.output} />}
      </div>
    </>
  );
}
