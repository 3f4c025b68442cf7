/** What of a field's schema decides how an answer is read. */
type Fields = Record<string, { type: string }>;

/** The answer that somebody gave in a form. What was left blank is left out; what is no number stays as it is, for the server to judge. */
export function answerOf(form: Fields, read: (name: string) => string | undefined): Record<string, unknown> {
  const answer: Record<string, unknown> = {};
  for (const [name, { type }] of Object.entries(form)) {
    const text = read(name);
    if (text === undefined) continue;
    if (type === "boolean") answer[name] = text === "true";
    else if (type === "number" && Number.isFinite(Number(text))) answer[name] = Number(text);
    else answer[name] = text;
  }
  return answer;
}
