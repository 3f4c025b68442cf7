import { autocompletion, type Completion, type CompletionContext, type CompletionResult, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, placeholder as placeholderOf } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { nonce, type Schemas } from "@/api";
import { isInExpression, offsetOf, positionOf } from "./places";

type Position = Schemas["TextPosition"];
/** Asks the server what could stand at a place of the text. */
export type Complete = (text: string, position: Position, signal: AbortSignal) => Promise<Schemas["Completion"] | undefined>;

type Props = {
  value: string;
  onChange: (text: string) => void;
  complete?: Complete;
  attributes: Record<string, string>;
  isReadOnly: boolean;
  /** Whether there is room for a program. */
  isTall?: boolean;
  /** Whether it is text with expressions in it: {{ … }}. */
  isTemplate?: boolean;
  /** Whether it is one line. */
  isLine?: boolean;
  placeholder?: string;
};

/** A field for code: with colours, brackets, and what could come next. Undo and redo are the editor's own. */
export default function CodeEditor({
  value,
  onChange,
  complete,
  attributes,
  isReadOnly,
  isTall,
  isTemplate = false,
  isLine,
  placeholder = "",
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const shown = useRef<EditorView>(null);
  const current = useRef({ value, onChange, complete, attributes });
  current.current = { value, onChange, complete, attributes };
  useEffect(() => {
    const view = new EditorView({
      parent: box.current as HTMLElement,
      state: EditorState.create({
        doc: current.current.value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorView.lineWrapping,
          EditorState.readOnly.of(isReadOnly),
          EditorView.contentAttributes.of(() => current.current.attributes),
          bracketMatching(),
          isTemplate ? template : expression,
          placeholderOf(placeholder),
          syntaxHighlighting(colours),
          look,
          autocompletion({
            override: [(context) => offersAt(context, isTemplate, current.current.complete)],
            icons: false,
            activateOnTypingDelay: 150,
          }),
          keymap.of([...completionKeymap, ...(isLine ? [{ key: "Enter", run: () => true }] : []), ...defaultKeymap]),
          overtype,
          EditorView.updateListener.of(({ docChanged, state }) => {
            const text = state.doc.toString();
            if (docChanged && text !== current.current.value) current.current.onChange(text);
          }),
        ],
      }),
    });
    shown.current = view;
    return () => view.destroy();
  }, [isReadOnly, isTemplate, isLine, placeholder]);
  useEffect(() => {
    const view = shown.current;
    const text = view?.state.doc.toString() ?? "";
    if (view && text !== value) view.dispatch({ changes: { from: 0, to: text.length, insert: value } });
  }, [value]);
  useEffect(() => {
    for (const [name, text] of Object.entries(attributes)) shown.current?.contentDOM.setAttribute(name, text);
    if (!("aria-invalid" in attributes)) shown.current?.contentDOM.removeAttribute("aria-invalid");
  }, [attributes]);
  return (
    <div
      ref={box}
      className={`overflow-auto rounded-md border border-strong-line bg-panel has-[:focus-visible]:outline-2 has-[:focus-visible]:outline-offset-2 has-[:focus-visible]:outline-accent has-[[aria-invalid]]:border-danger ${isTall ? "max-h-96 min-h-40" : isTemplate && !isLine ? "max-h-60 min-h-20" : "max-h-60 min-h-9"}`}
    />
  );
}

/** Replaces what is selected itself: the browser would keep its colour by a style that the page's policy refuses. */
const overtype = EditorView.domEventHandlers({
  beforeinput: ({ inputType, data }, view) => {
    if (inputType !== "insertText" || data === null || view.state.selection.main.empty || view.composing) return false;
    view.dispatch(view.state.replaceSelection(data), { userEvent: "input.type" });
    return true;
  },
});

async function offersAt(context: CompletionContext, isTemplate: boolean, complete: Complete | undefined): Promise<CompletionResult | null> {
  const { doc } = context.state;
  if (!complete || (isTemplate && !isInExpression(doc.sliceString(0, context.pos)))) return null;
  if (!context.explicit && !context.matchBefore(/(?:[\p{L}\d_$.["]|\{\{ ?)$/u)) return null;
  const aborted = new AbortController();
  context.addEventListener("abort", () => aborted.abort());
  const found = await complete(doc.toString(), positionOf(doc, context.pos), aborted.signal).catch(() => undefined);
  if (!found || found.offers.length === 0) return null;
  const own = (offer: Schemas["Offer"]): Completion["apply"] => {
    const { replace, insert } = offer;
    if (!replace) return insert;
    const from = offsetOf(doc, replace.from);
    return (view, _, __, to) => view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length } });
  };
  return {
    from: offsetOf(doc, found.replace.from),
    to: Math.max(context.pos, offsetOf(doc, found.replace.to)),
    validFor: found.isIncomplete ? undefined : /^[\w$]*$/,
    options: found.offers.map((offer, at) => ({
      label: offer.name,
      detail: offer.signature ?? offer.type,
      info: [offer.description, offer.value === undefined ? undefined : JSON.stringify(offer.value)].filter(Boolean).join(" · ") || undefined,
      apply: own(offer),
      boost: -at / 100,
    })),
  };
}

type Stream = Parameters<Parameters<typeof StreamLanguage.define>[0]["token"]>[0];

function token(stream: Stream): string | null {
  if (stream.eatSpace()) return null;
  if (stream.match(/^\/\/.*/) || stream.match(/^\/\*.*?\*\//)) return "comment";
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/) || stream.match(/^`(?:[^`\\]|\\.)*`?/)) return "string";
  if (stream.match(/^\d[\d_.]*(?:e[+-]?\d+)?/i)) return "number";
  if (stream.match(/^(?:true|false|null|undefined|const|let|return|if|else|for|of|in|function|async|await|typeof|new)\b/)) return "keyword";
  if (stream.match(/^(?:input|payload|nodes|run|item|index|acc|result|now|link)\b/)) return "variableName";
  if (stream.match(/^[\p{L}_$][\p{L}\d_$]*/u)) return null;
  stream.next();
  return null;
}

const expression = StreamLanguage.define<null>({ token });

/** Text, in which {{ and }} enclose expressions. */
const template = StreamLanguage.define<{ isWithin: boolean }>({
  startState: () => ({ isWithin: false }),
  token: (stream, state) => {
    if (stream.match(state.isWithin ? "}}" : "{{")) {
      state.isWithin = !state.isWithin;
      return "keyword";
    }
    if (state.isWithin) return token(stream);
    if (!stream.match(/^.*?(?=\{\{)/)) stream.skipToEnd();
    return null;
  },
});

const colours = HighlightStyle.define([
  { tag: tags.string, color: "var(--ok)" },
  { tag: tags.number, color: "var(--info)" },
  { tag: tags.keyword, color: "var(--info)" },
  { tag: tags.variableName, color: "var(--accent)" },
  { tag: tags.comment, color: "var(--quiet)" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--text)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-content": { fontFamily: "var(--font-mono, monospace)", padding: "6px 0", caretColor: "var(--text)", outline: "none" },
  ".cm-line": { padding: "0 10px" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    boxShadow: "0 4px 12px #0003",
    maxWidth: "min(32rem, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px", color: "var(--text)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--hover)", color: "var(--text)" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-completionDetail": { color: "var(--quiet)", fontStyle: "normal", marginLeft: "12px" },
  ".cm-completionInfo": { padding: "4px 8px" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--hover)" },
});
