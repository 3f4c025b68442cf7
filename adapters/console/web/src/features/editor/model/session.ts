import { createStore, type StoreApi } from "zustand/vanilla";
import { apply, type Command } from "./commands";
import { emptyGraph, type Graph, sameGraph } from "./graph";
import { type History, historyOf, record, redo, undo } from "./history";
import { type Choice, type Conflict, merge, resolve } from "./merge";

/** A version as it is stored; `etag` says which state of it, and is empty while there is none. One that is published does not change any more. */
export type Stored = { versionId: string; etag: string; graph: Graph; number?: number; isPublished?: boolean };

/** What became of an attempt to save that failed. */
export type Refusal = "stale" | "ended" | "refused" | "unreachable" | "signedOut";

export type Server = {
  read: (versionId: string) => Promise<Stored>;
  /** Saves a draft, or makes a new one where there is none. Answers with the graph that was taken, which is an earlier one where making the draft is repeated; without an `etag` then. */
  write: (graph: Graph, from: { versionId: string; etag: string }, isLeaving: boolean) => Promise<Stored>;
  refusalOf: (failure: unknown) => Refusal;
};

export type SaveState =
  | "saved"
  | "unsaved"
  | "saving"
  /** The gateway does not answer: it is tried again. */
  | "offline"
  /** Whoever edits has to sign in again; then it is saved. */
  | "signedOut"
  /** Somebody else has changed the same nodes. */
  | "conflict"
  /** The version was published or deleted by somebody else. */
  | "ended"
  /** The gateway does not take it as it is. */
  | "refused"
  | "readonly";

export type Session = {
  history: History;
  /** What the server has, as far as is known. */
  base: Graph;
  versionId: string;
  etag: string;
  number?: number;
  save: SaveState;
  failure?: unknown;
  /** What was sent when it failed. */
  failed?: Graph;
  conflict?: { theirs: Stored; conflicts: Conflict[] };
  /** How often changes of others were taken in. */
  merges: number;
};

export const saveDelay = 1_200; // milliseconds after the last change
const retryDelays = [2_000, 5_000, 15_000, 30_000];

export type Editing = {
  store: StoreApi<Session>;
  /** The one way in which anything changes. */
  run: (command: Command, group?: string) => void;
  undo: () => void;
  redo: () => void;
  /** Takes in what the server has now. */
  take: (stored: Stored) => void;
  settle: (choose: (conflict: Conflict) => Choice) => Promise<void>;
  /** Goes on in a new draft, where the version has ended. */
  saveAsDraft: () => Promise<boolean>;
  /** Says whether anything may be changed and saved. What was changed before stays, and is saved once it may be again. */
  permit: (mayWrite: boolean) => void;
  /** Saves at once; false where something could not be saved. */
  flush: (isLeaving?: boolean) => Promise<boolean>;
  stop: () => void;
};

/** What both sides know, where the answer to what was sent is lost: the nodes that were new in it, and are there now. */
function withSent(base: Graph, sent: Graph, theirs: Graph): Graph {
  const fresh = Object.entries(sent.nodes).filter(([id]) => !base.nodes[id] && theirs.nodes[id]);
  return fresh.length > 0 ? { ...base, nodes: { ...base.nodes, ...Object.fromEntries(fresh) } } : base;
}

/** Edits a version, and saves it by itself. */
export function edit(server: Server, stored: Stored | undefined, mayWrite = true): Editing {
  const graph = stored?.graph ?? emptyGraph;
  const store = createStore<Session>(() => ({
    history: historyOf(graph),
    base: graph,
    versionId: stored?.versionId ?? "",
    etag: stored?.etag ?? "",
    number: stored?.number,
    save: stored?.isPublished ? "readonly" : "saved",
    merges: 0,
  }));
  const { getState: get, setState: set } = store;
  const isDirty = () => doubtful.length > 0 || !sameGraph(get().history.graph, get().base);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let saving: Promise<void> | undefined;
  let failures = 0;
  let isStopped = false;
  let isPermitted = mayWrite;
  let doubtful: Graph[] = []; // were sent, and nobody knows which of them was saved

  const schedule = (delay = saveDelay) => {
    clearTimeout(timer);
    if (!isStopped && isPermitted) timer = setTimeout(() => void save(false), delay);
  };

  const changed = (history: History) => {
    const { save: state } = get();
    if (!isPermitted || state === "readonly" || history === get().history) return;
    set({ history });
    if (state === "conflict" || state === "ended") return; // a person decides first
    if (state === "offline" || state === "signedOut") return; // it is tried again as it is
    set({ save: saving || isDirty() ? "unsaved" : "saved" });
    if (isDirty()) schedule();
  };

  const take = (theirs: Stored) => {
    const { base, history, etag, save: state, merges } = get();
    if (theirs.etag === etag || saving || state === "ended") return;
    if (theirs.isPublished && state !== "readonly" && isDirty()) return set({ save: "ended" });
    if (theirs.isPublished || state === "readonly") {
      return set({ history: historyOf(theirs.graph), base: theirs.graph, etag: theirs.etag, number: theirs.number, save: "readonly" });
    }
    const isOwn = doubtful.some((one) => sameGraph(one, theirs.graph));
    const known = isOwn ? theirs.graph : doubtful.reduce((so, sent) => withSent(so, sent, theirs.graph), base);
    const { graph: merged, conflicts } = merge(known, history.graph, theirs.graph);
    doubtful = [];
    if (conflicts.length > 0) return set({ base: known, save: "conflict", conflict: { theirs, conflicts } });
    set({
      history: sameGraph(merged, history.graph) ? history : { ...history, graph: merged },
      base: theirs.graph,
      etag: theirs.etag,
      conflict: undefined,
      merges: sameGraph(theirs.graph, known) ? merges : merges + 1,
      save: sameGraph(merged, theirs.graph) ? "saved" : "unsaved",
    });
    if (isDirty()) schedule();
  };

  const attempt = async (isLeaving: boolean) => {
    const { history, versionId, etag } = get();
    const sent = history.graph;
    set({ save: "saving" });
    if (versionId && !etag) return await catchUp(sent);
    try {
      const answer = await server.write(sent, { versionId, etag }, isLeaving);
      failures = 0;
      doubtful = [];
      const { graph: base, ...made } = answer;
      set({ base, etag: made.etag, versionId: made.versionId, number: made.number, failure: undefined, failed: undefined });
      if (!made.etag) return await catchUp(base);
      set({ save: isDirty() ? "unsaved" : "saved" });
    } catch (failure) {
      const refusal = server.refusalOf(failure);
      if (refusal === "stale") return await catchUp(sent);
      if (refusal === "unreachable" && !doubtful.includes(sent)) doubtful.push(sent);
      set({ failure, failed: sent, save: refusal === "unreachable" ? "offline" : refusal });
    }
  };

  /** Reads what somebody else has saved meanwhile; or it was this page, and the answer was lost. */
  const catchUp = async (sent: Graph) => {
    try {
      const theirs = await server.read(get().versionId);
      if ([sent, ...doubtful].some((one) => sameGraph(one, theirs.graph))) {
        doubtful = [];
        set({ base: theirs.graph, etag: theirs.etag });
        set({ save: isDirty() ? "unsaved" : "saved" });
      } else {
        saving = undefined;
        take(theirs);
      }
    } catch (failure) {
      const refusal = server.refusalOf(failure);
      set({ failure, save: refusal === "ended" || refusal === "signedOut" ? refusal : "offline" });
    }
  };

  const save = async (isLeaving: boolean): Promise<void> => {
    clearTimeout(timer);
    if (saving) return saving;
    const { save: state } = get();
    if (state === "readonly" || state === "conflict" || state === "ended" || isStopped || !isPermitted) return;
    if (!isDirty()) return set({ save: "saved" });
    saving = attempt(isLeaving).finally(() => {
      saving = undefined;
      const now = get().save;
      if (now === "unsaved") schedule();
      if (now === "offline") schedule(retryDelays[Math.min(failures++, retryDelays.length - 1)]);
    });
    return saving;
  };

  return {
    store,
    run: (command, group) => changed(record(get().history, apply(get().history.graph, command), Date.now(), group)),
    undo: () => changed(get().history.past.length > 0 ? undo(get().history) : get().history),
    redo: () => changed(get().history.future.length > 0 ? redo(get().history) : get().history),
    take,
    settle: async (choose) => {
      const { conflict, base, history, merges } = get();
      if (!conflict) return;
      const { theirs } = conflict;
      const now = merge(base, history.graph, theirs.graph).conflicts;
      const settled = resolve(base, history.graph, theirs.graph, now, choose);
      // It is no step: taking it back would take back what others did.
      set({
        history: { ...history, graph: settled },
        base: theirs.graph,
        etag: theirs.etag,
        conflict: undefined,
        save: "unsaved",
        merges: merges + 1,
      });
      await save(false);
    },
    saveAsDraft: async () => {
      doubtful = [];
      set({ versionId: "", etag: "", base: emptyGraph, save: "unsaved" });
      await save(false);
      return get().save === "saved";
    },
    permit: (mayWriteNow) => {
      if (isPermitted === mayWriteNow) return;
      isPermitted = mayWriteNow;
      clearTimeout(timer);
      if (isPermitted && isDirty()) void save(false);
    },
    flush: async (isLeaving = false) => {
      for (let tries = 0; tries < 4 && isDirty(); tries++) {
        await save(isLeaving);
        if (["conflict", "ended", "refused", "offline", "signedOut", "readonly"].includes(get().save)) break;
      }
      return get().save === "readonly" || !isDirty();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
