import type { Schemas } from "@/api";

export type FieldSchema = Schemas["FieldSchema"];
export type Question = Schemas["Question"];

/** How a field of a question is asked for. What has no control of its own is given as JSON. */
export type Control = "yesno" | "number" | "select" | "text" | "textarea" | "password" | "json";

export function controlOf(field: FieldSchema): Control {
  switch (field.type) {
    case "boolean":
      return "yesno";
    case "number":
      return "number";
    case "enum":
      return field.enum?.length ? "select" : "text";
    case "string":
      if (field.secret || field.widget === "password") return "password";
      return field.widget === "textarea" || field.widget === "code" ? "textarea" : "text";
    default:
      return "json";
  }
}

/** The fields of a question in the order in which they are shown. */
export function fieldsIn(question: Question): [name: string, field: FieldSchema][] {
  return Object.entries(question.form).sort(([, a], [, b]) => (a.order ?? Number.MAX_SAFE_INTEGER) - (b.order ?? Number.MAX_SAFE_INTEGER));
}

/** Says whether a question is a single one; its field is called `value`. */
export const isSingle = (question: Question) => question.inputType !== undefined;

/** What a field of the form is called: its path in the request, as errors name it. */
export const pathOf = (question: Question, name: string) => (isSingle(question) ? "input" : `input.${name}`);

/** The values of an enum with their names for people. */
export function optionsOf({ enum: values = [], enumLabels }: FieldSchema): { value: string; label: string }[] {
  const labels = (enumLabels ?? {}) as Record<string, string> | string[];
  return values.map((value, at) => {
    const label = Array.isArray(labels) ? labels[at] : labels[String(value)];
    return { value: JSON.stringify(value), label: label ?? String(value) };
  });
}

/** Turns what was entered into the field's value; what is no such value goes as text, and the gateway says what is wrong with it. */
export function readValue(field: FieldSchema, text: string): unknown {
  const control = controlOf(field);
  if (text === "" && control !== "textarea" && control !== "text") return undefined;
  switch (control) {
    case "yesno":
      return text === "true";
    case "number": {
      const number = Number(text);
      return text.trim() === "" || Number.isNaN(number) ? text : number;
    }
    case "select":
      return JSON.parse(text);
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    default:
      return text === "" && !field.required ? undefined : text;
  }
}

/** The answer that a form holds, as the API takes it. */
export function answerOf(question: Question, entered: (path: string) => string): unknown {
  const values = fieldsIn(question).map(([name, field]) => [name, readValue(field, entered(pathOf(question, name)))] as const);
  if (isSingle(question)) return values[0]?.[1];
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}
