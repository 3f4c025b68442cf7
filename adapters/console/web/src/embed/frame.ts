import { createMemoryHistory } from "@tanstack/react-router";
import { createStore } from "zustand/vanilla";
import { base, type Follow, follow, keyClient, newQueryClient, type Right } from "@/api";
import type { Host as EditorHost } from "@/features/editor/host";
import type { SaveState } from "@/features/editor/model";
import type { ToFrame } from "../../../../httpapi/client/typescript/src/editor";
import type { Host } from "./host";
import { applyTheme } from "./theme";
import { keepToken, type Tokens } from "./token";

type Message = Exclude<ToFrame, { do: "token" }>;
type Open = Extract<Message, { do: "open" }>;
type Attached = Parameters<EditorHost["attach"]>[0];

type State = {
  isReadOnly: boolean;
  /** What the token permits; undefined while there is none. */
  rights?: Right[];
  /** Why there is no token that the gateway takes. */
  refused?: Error;
};

const api = new URL("../v1/gateway", new URL(base, location.href)).href;
const restart = 2_000; // milliseconds until a stream that ended with its token begins anew

/** What stands between the page that shows this one, the gateway, and the editor. */
export function newFrame() {
  const store = createStore<State>(() => ({ isReadOnly: false }));
  const { getState: get, setState: set } = store;
  const history = createMemoryHistory();
  const queries = newQueryClient();
  let tokens: Tokens | undefined;
  let editor: Attached | undefined;
  let host: Host | undefined;
  let opened = { workflowId: "", to: "" }; // what the host wants to be shown; links lead to other workflows
  let turn: Promise<unknown> = Promise.resolve();
  const stopped = new Set<() => void>(); // streams that were refused, and begin again with the next token

  /** Does one thing after the other. */
  const inTurn = (run: () => Promise<void>) => {
    const done = turn.then(run);
    turn = done.catch(() => undefined);
    return done;
  };

  const send: Tokens["send"] = (...request) => (tokens ? tokens.send(...request) : Promise.reject(new Error("nobody shows this page")));
  const client = keyClient(api, send);

  const begin = (by: Host) => {
    host = by;
    tokens = keepToken(by.askToken, {
      onToken: ({ rights }) => {
        if (String(get().rights) !== String(rights)) set({ rights });
        const isWaiting = editor?.editing.store.getState().save === "signedOut";
        if (isWaiting && rights.includes("workflows:write")) void editor?.editing.flush();
        for (const start of stopped) start();
      },
      onRefused: (refused) => {
        if (refused && !get().refused) by.tell("error", { code: "token_refused", message: refused.message });
        if (refused !== get().refused) set({ refused });
      },
    });
    void tokens.renew().catch(() => undefined); // the state says it
  };

  const show = ({ workflowId, versionId, isReadOnly, theme }: Open) => {
    const to = `/t/embedded/workflows/${encodeURIComponent(workflowId)}/editor${versionId ? `?version=${encodeURIComponent(versionId)}` : ""}`;
    const isOther = opened.to !== to;
    opened = { workflowId, to };
    try {
      applyTheme(theme);
    } catch (failure) {
      host?.tell("error", { code: "theme", message: messageOf(failure) });
    }
    void inTurn(async () => {
      await setReadOnly(isReadOnly).catch((failure) => host?.tell("error", { code: "readonly", message: messageOf(failure) }));
      if (isOther && history.location.href !== to) history.push(to);
    });
  };

  const save = async () => {
    if (editor && !(await editor.editing.flush())) throw new Error(`The last changes could not be saved: ${editor.editing.store.getState().save}.`);
  };

  const setReadOnly = async (isReadOnly: boolean) => {
    if (isReadOnly && !get().isReadOnly) await save();
    set({ isReadOnly });
  };

  const act = async (message: Exclude<Message, { do: "open" }>) => {
    if (message.do === "theme") return applyTheme(message.theme);
    if (message.do === "readonly") return inTurn(() => setReadOnly(message.isReadOnly));
    if (!editor) throw new Error("No workflow is shown.");
    if (editor.workflowId !== opened.workflowId) throw new Error(`Another workflow is shown: ${editor.workflowId}.`);
    return message.do === "save" ? save() : editor.publish();
  };

  /** Tells the host what becomes of what somebody changes. */
  const watch = ({ workflowId, editing }: Attached) => {
    let isDirty = false;
    return editing.store.subscribe(({ save: now, versionId, failure }, { save: before }) => {
      if (now === before) return;
      const isDirtyNow = now !== "saved" && now !== "readonly";
      if (isDirty !== isDirtyNow) host?.tell("dirty", { dirty: isDirtyNow });
      isDirty = isDirtyNow;
      if (now === "saved" && versionId) host?.tell("saved", { workflowId, versionId });
      if (failures.includes(now)) host?.tell("error", { code: now, message: failure ? messageOf(failure) : now });
    });
  };

  const attach: EditorHost["attach"] = (shown) => {
    editor = shown;
    const stop = watch(shown);
    return () => {
      stop();
      if (editor === shown) editor = undefined;
    };
  };

  // Whoever takes the frame away may have changed something a moment ago.
  addEventListener("pagehide", () => void editor?.editing.flush(true));

  return {
    store,
    history,
    queries,
    client,
    hear: (message: Message, by: Host) => {
      if (message.do === "open") {
        if (!tokens) begin(by);
        return show(message);
      }
      const { id } = message;
      void act(message).then(
        () => by.say({ say: "done", id }),
        (failure) => by.say({ say: "done", id, error: messageOf(failure) }),
      );
    },
    /** Asks for a token again, and goes on where it was. */
    again: async () => {
      await tokens?.renew();
      await editor?.editing.flush();
      await queries.invalidateQueries();
      const { refused } = get();
      if (refused) throw refused;
    },
    attach,
    onPublished: (published: Parameters<EditorHost["onPublished"]>[0]) => host?.tell("published", published),
    /** Reads the stream of changes. It ends with its token, and begins again with the next. */
    open: ({ onState, onRefused, ...handlers }: Follow) => {
      let isLive = false;
      let timer: ReturnType<typeof setTimeout> | undefined;
      let stop = () => {};
      const start = () => {
        stopped.delete(start);
        stop = follow(`${api}/stream`, {
          ...handlers,
          send: (address, init) => send(address as string, init),
          onState: (state) => {
            isLive ||= state === "live";
            onState?.(state);
          },
          onRefused: () => {
            if (isLive && !get().refused) timer = setTimeout(start, restart);
            else {
              stopped.add(start);
              onRefused?.();
            }
            isLive = false;
          },
        });
      };
      start();
      return () => {
        stopped.delete(start);
        clearTimeout(timer);
        stop();
      };
    },
  };
}

export type Frame = ReturnType<typeof newFrame>;

const failures: SaveState[] = ["offline", "signedOut", "conflict", "ended", "refused"];
const messageOf = (failure: unknown) => (failure instanceof Error ? failure.message : String(failure));
