import type { Text } from "@codemirror/state";
import type { Schemas } from "@/api";

type Position = Schemas["TextPosition"];

/** The place of the text that a position means; columns count code points. */
export function offsetOf(doc: Text, { line, column }: Position): number {
  const { from, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return from + [...text].slice(0, column - 1).join("").length;
}

/** The position that an offset means. */
export function positionOf(doc: Text, offset: number): Position {
  const { from, number, text } = doc.lineAt(offset);
  return { line: number, column: [...text.slice(0, offset - from)].length + 1 };
}

/** Says whether a template that goes on behind a text goes on within an expression. */
export const isInExpression = (before: string) => before.lastIndexOf("{{") > before.lastIndexOf("}}");
