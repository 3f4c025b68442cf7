/** What `POST /embed-tokens` answers with. */
export type EmbedToken = { token: string; createdAt?: string; expiresAt: string; permissions: string[] };

/** Colours and fonts of the editor, as CSS writes them, by the names of its tokens. */
export type EditorTheme = {
  mode?: "light" | "dark" | "system";
  colors?: Partial<
    Record<
      | "bg"
      | "panel"
      | "raised"
      | "line"
      | "strong-line"
      | "text"
      | "quiet"
      | "accent"
      | "on-accent"
      | "danger"
      | "on-danger"
      | "ok"
      | "warn"
      | "info"
      | "hover",
      string
    >
  >;
  fonts?: Partial<Record<"sans" | "mono", string>>;
};

/** What the events of the element have in `detail`. */
export type EditorEvents = {
  saved: { workflowId: string; versionId: string };
  published: { workflowId: string; versionId: string; version: number };
  dirty: { dirty: boolean };
  error: { code: string; message: string };
};

/** The first message to the frame, which bears the port that everything else goes through. */
export const hello = "sluice-editor 1";

/** What the page says to the frame. Answers have the number of what they answer. */
export type ToFrame =
  | { do: "open"; workflowId: string; versionId?: string; locale?: string; isReadOnly: boolean; theme: EditorTheme }
  | { do: "token"; id: number; token?: EmbedToken; error?: string }
  | { do: "save" | "publish"; id: number }
  | { do: "readonly"; id: number; isReadOnly: boolean }
  | { do: "theme"; id: number; theme: EditorTheme };

/** What the frame says to the page. */
export type FromFrame =
  | { say: "ready" }
  | { say: "token"; id: number }
  | { say: "done"; id: number; error?: string }
  | { say: "event"; name: keyof EditorEvents; detail: object };

type Message = ToFrame extends infer One ? (One extends { id: number } ? Omit<One, "id"> : never) : never;

const answerWithin = 15_000; // milliseconds until a frame that was loaded has answered

// Where there are no elements, as on a server that renders pages, the module can be imported nevertheless.
const Element = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/**
 * `<sluice-editor embed-id workflow-id>`: the editor of Sluice in a page of yours. It fills the element, whose height you set.
 *
 * - Attributes: `embed-id`, `workflow-id`, `version-id`, `gateway` (where the gateway is; needed unless this script comes from it), `locale`, `theme`
 *   (`light`, `dark`, `system`) and `readonly`.
 * - Events: `saved`, `published`, `dirty`, `error`.
 */
export class SluiceEditor extends Element {
  static observedAttributes = ["embed-id", "workflow-id", "version-id", "gateway", "locale", "theme", "readonly"];

  #frame: HTMLIFrameElement | undefined;
  #port: MessagePort | undefined;
  #calls = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  #last = 0;
  #timer: ReturnType<typeof setTimeout> | undefined; // until the frame has to have answered
  #isSetting = false;
  #isPlaced = false; // once connected: an element that becomes known hears of its attributes before
  #theme: EditorTheme = {};
  #getToken: (() => Promise<EmbedToken>) | undefined;
  #hasToken = () => {};
  #asked = new Promise<void>((resolve) => {
    this.#hasToken = resolve;
  });

  /** Gives a token for whoever is signed in to your product: what `POST /embed-tokens` answers your server with. It is asked whenever one is needed. */
  get getToken(): (() => Promise<EmbedToken>) | undefined {
    return this.#getToken;
  }
  set getToken(ask: (() => Promise<EmbedToken>) | undefined) {
    this.#getToken = ask;
    if (ask) this.#hasToken();
  }

  /** Saves what is not saved yet. */
  save(): Promise<void> {
    return this.#call({ do: "save" });
  }

  /** Saves, and makes the draft the version that triggers start. It fails where the gateway finds errors in it. */
  publish(): Promise<void> {
    return this.#call({ do: "publish" });
  }

  /** Saves, and permits changes no more, or again. Where something cannot be saved, it fails, and everything stays as it was. */
  async setReadonly(isReadOnly: boolean): Promise<void> {
    await this.#call({ do: "readonly", isReadOnly });
    this.#setAttribute(isReadOnly);
  }

  /** Changes colours and fonts. What is left out is as it was in the beginning. */
  setTheme(theme: EditorTheme): Promise<void> {
    this.#theme = theme;
    return this.#call({ do: "theme", theme: this.#themeNow() });
  }

  connectedCallback() {
    // What was set before the element was known hides what it is set by.
    if (Object.hasOwn(this, "getToken")) {
      const { getToken } = this;
      Reflect.deleteProperty(this, "getToken");
      this.getToken = getToken;
    }
    this.#isPlaced = true;
    this.#show();
  }

  disconnectedCallback() {
    this.#isPlaced = false;
    this.#close();
    this.#frame?.remove();
    this.#frame = undefined;
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null) {
    if (before === after || !this.#isPlaced || this.#isSetting) return;
    if (name === "embed-id" || name === "gateway") this.#show();
    else if (!this.#frame) return;
    else if (name === "readonly") this.#changeReadonly(after !== null);
    else if (name === "theme") void this.#call({ do: "theme", theme: this.#themeNow() }).catch((error) => this.#failed("theme", error));
    else this.#open();
  }

  /** What the attribute asks for. It is as before where the frame refuses. */
  #changeReadonly(isReadOnly: boolean) {
    const port = this.#port;
    void this.#call({ do: "readonly", isReadOnly }).catch((error) => {
      if (port === this.#port && this.hasAttribute("readonly") === isReadOnly) this.#setAttribute(!isReadOnly);
      this.#failed("readonly", error);
    });
  }

  #setAttribute(isReadOnly: boolean) {
    this.#isSetting = true;
    this.toggleAttribute("readonly", isReadOnly);
    this.#isSetting = false;
  }

  #themeNow(): EditorTheme {
    return { mode: (this.getAttribute("theme") as EditorTheme["mode"]) ?? "system", ...this.#theme };
  }

  #address(): URL {
    const id = encodeURIComponent(this.getAttribute("embed-id") ?? "");
    const gateway = this.getAttribute("gateway");
    const own = import.meta.url;
    return gateway ? new URL(`embed/${id}`, `${gateway.replace(/\/+$/, "")}/`) : new URL(id, own);
  }

  #show() {
    this.#close();
    this.#frame?.remove();
    this.#frame = undefined;
    if (!this.isConnected || !this.hasAttribute("embed-id")) return;
    const address = this.#address();
    const frame = document.createElement("iframe");
    frame.title = this.getAttribute("aria-label") ?? "Sluice";
    frame.allow = "clipboard-write";
    frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-downloads");
    frame.style.cssText = "display:block;width:100%;height:100%;border:0";
    frame.addEventListener("load", () => this.#greet(frame, address.origin));
    frame.src = address.href;
    if (getComputedStyle(this).display === "inline") this.style.display = "block";
    this.#frame = frame;
    this.append(frame);
  }

  /** Gives the frame a port. Only a page of the gateway gets it, whatever the frame shows meanwhile. */
  #greet(frame: HTMLIFrameElement, origin: string) {
    this.#close();
    const { port1, port2 } = new MessageChannel();
    this.#timer = setTimeout(() => {
      const error = new Error(`The editor does not answer. Is ${location.origin} among the tenant's embed.origins?`);
      this.#rejectCalls(error);
      this.#failed("no_answer", error);
    }, answerWithin);
    port1.onmessage = ({ data }: MessageEvent<FromFrame>) => {
      if (data.say === "ready") clearTimeout(this.#timer);
      this.#hear(data, port1);
    };
    frame.contentWindow?.postMessage(hello, origin, [port2]);
    this.#port = port1;
    this.#open();
  }

  #open() {
    const versionId = this.getAttribute("version-id") ?? undefined;
    const locale = this.getAttribute("locale") ?? undefined;
    const workflowId = this.getAttribute("workflow-id");
    if (workflowId) this.#send({ do: "open", workflowId, versionId, locale, isReadOnly: this.hasAttribute("readonly"), theme: this.#themeNow() });
  }

  #hear(said: FromFrame, port: MessagePort) {
    if (said.say === "token") {
      const { id } = said;
      void this.#asked
        .then(() => this.#getToken?.())
        .then((given) => {
          // Only what the frame reads, whatever else it comes with: what cannot be copied is said to be wrong.
          const { token, createdAt, expiresAt, permissions } = given ?? ({} as EmbedToken);
          port.postMessage({ do: "token", id, token: { token, createdAt, expiresAt, permissions: permissions && [...permissions] } } satisfies ToFrame);
        })
        .catch((error) => port.postMessage({ do: "token", id, error: String(error?.message ?? error) } satisfies ToFrame));
    } else if (said.say === "done") {
      const call = this.#calls.get(said.id);
      this.#calls.delete(said.id);
      if (said.error === undefined) call?.resolve();
      else call?.reject(new Error(said.error));
    } else if (said.say === "event") this.dispatchEvent(new CustomEvent(said.name, { detail: said.detail }));
  }

  #send(message: ToFrame) {
    this.#port?.postMessage(message);
  }

  #call(message: Message): Promise<void> {
    if (!this.#port) return message.do === "theme" || message.do === "readonly" ? Promise.resolve() : Promise.reject(new Error("The editor is not shown."));
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#send({ ...message, id } as ToFrame);
    });
  }

  #failed(code: string, error: Error) {
    this.dispatchEvent(new CustomEvent("error", { detail: { code, message: error.message } }));
  }

  #close() {
    clearTimeout(this.#timer);
    this.#port?.close();
    this.#port = undefined;
    this.#rejectCalls(new Error("The editor was closed."));
  }

  #rejectCalls(error: Error) {
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
  }
}

if (globalThis.customElements && !customElements.get("sluice-editor")) customElements.define("sluice-editor", SluiceEditor);

declare global {
  interface HTMLElementTagNameMap {
    "sluice-editor": SluiceEditor;
  }
}
