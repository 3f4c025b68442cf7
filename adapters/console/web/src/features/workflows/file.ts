/** The form of workflows as files, the same as that of `sluice workflow`: what a place holds, in the order in which it is written. */
type Shape = {
  isRequired?: true;
  members?: [name: string, shape: Shape][];
  items?: Shape;
  /** What it is where it is left out, besides an empty value. */
  usual?: unknown;
};

const any: Shape = {};
const needed: Shape = { isRequired: true };
const no: Shape = { usual: false };

const hook: Shape = {
  members: [
    ["scheme", needed],
    ["secrets", any],
    ["event", any],
    ["entityId", any],
    ["dedupe", any],
    ["filter", any],
    ["split", any],
    ["ingest", no],
    ["rawBody", no],
    ["respond", { usual: { mode: "immediately" } }],
    ["allowFrom", any],
    [
      "limits",
      {
        members: [
          ["perMinute", { usual: 600 }],
          ["concurrent", { usual: 20 }],
        ],
      },
    ],
    ["isActive", any],
  ],
};

const trigger: Shape = {
  members: [
    ["name", needed],
    ["type", needed],
    ["isActive", any],
    ["metadata", any],
    ["config", any],
    ["hook", hook],
  ],
};

const node: Shape = {
  members: [
    ["id", needed],
    ["parentId", any],
    ["type", needed],
    ["version", needed],
    ["name", needed],
    ["description", any],
    [
      "position",
      {
        members: [
          ["x", any],
          ["y", any],
        ],
        usual: { x: 0, y: 0 },
      },
    ],
    ["config", any],
    ["inputSchema", any],
    ["outputSchema", any],
    [
      "retryPolicy",
      {
        members: [
          ["maxRetries", any],
          ["backoffMs", any],
          ["maxBackoffMs", any],
        ],
      },
    ],
    ["timeoutMs", any],
  ],
};

const edge: Shape = {
  members: [
    ["sourceNodeId", needed],
    ["targetNodeId", needed],
    ["sourceOutputKey", any],
    ["targetInputKey", any],
    ["condition", any],
    ["label", any],
  ],
};

const file: Shape = {
  members: [
    ["sluice", needed],
    ["name", needed],
    ["description", any],
    ["metadata", any],
    ["isActive", any],
    ["draft", no],
    ["runRetentionDays", any],
    ["triggers", { items: trigger }],
    ["nodes", { isRequired: true, items: node }],
    ["edges", { isRequired: true, items: edge }],
  ],
};

export type Members = Record<string, unknown>;
export const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);

/** Leaves out what files do not have, what is empty and what is usual. */
export const tidied = (document: Members) => tidy(document, file) as Members;

function tidy(value: unknown, shape: Shape): unknown {
  const { items, members } = shape;
  if (Array.isArray(value)) return items ? value.map((item) => tidy(item, items)) : value;
  if (!isObject(value) || !members) return value;
  const kept: Members = {};
  for (const [name, of] of members) {
    const found = tidy(value[name], of);
    if ((of.isRequired && value[name] != null) || !isUsual(found, of)) kept[name] = found;
  }
  return kept;
}

function isUsual(value: unknown, { usual }: Shape): boolean {
  if (value == null || value === "") return true;
  if (typeof value === "object" && Object.keys(value).length === 0) return true;
  return usual !== undefined && inline(value, any) === inline(usual, any);
}

/** How long a line may get by what stands together on it. */
const width = 120;

/** Writes a file as a person reads it: what fits stands on one line, except lists of objects. */
export const printed = (document: Members) => `${write(document, file, 0, 0)}\n`;

function write(value: unknown, shape: Shape, indent: number, column: number): string {
  const line = inline(value, shape);
  if (indent > 0 && !(Array.isArray(value) && value.some(isObject)) && column + [...line].length <= width) return line;
  const inner = "  ".repeat(indent + 1);
  const lines = (begin: string, elements: string[], end: string) =>
    elements.length > 0 ? `${begin}\n${elements.map((one) => inner + one).join(",\n")}\n${"  ".repeat(indent)}${end}` : begin + end;
  if (Array.isArray(value))
    return lines(
      "[",
      value.map((item) => write(item, shape.items ?? any, indent + 1, inner.length)),
      "]",
    );
  if (!isObject(value)) return line;
  return lines(
    "{",
    membersOf(value, shape).map(([name, member, of]) => {
      const key = `${quoted(name)}: `;
      return key + write(member, of, indent + 1, inner.length + [...key].length);
    }),
    "}",
  );
}

function inline(value: unknown, shape: Shape): string {
  if (Array.isArray(value)) return `[${value.map((item) => inline(item, shape.items ?? any)).join(", ")}]`;
  if (!isObject(value)) return quoted(value);
  return `{${membersOf(value, shape)
    .map(([name, member, of]) => `${quoted(name)}: ${inline(member, of)}`)
    .join(", ")}}`;
}

/** The members in the order of the shape, or by name where it names none. */
const membersOf = (value: Members, { members }: Shape): [string, unknown, Shape][] =>
  members
    ? members.filter(([name]) => name in value).map(([name, of]) => [name, value[name], of])
    : Object.keys(value)
        .sort()
        .map((name) => [name, value[name], any]);

/** JSON as the command writes it, which escapes what ends lines in JavaScript. */
const quoted = (value: unknown) => JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");

/** Replaces parts of a value. What `replace` gives nothing for is looked into. */
export function replaced(value: unknown, replace: (value: unknown) => unknown): unknown {
  const other = replace(value);
  if (other !== undefined) return other;
  if (Array.isArray(value)) return value.map((item) => replaced(item, replace));
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaced(member, replace)]));
  return value;
}
