import { useLingui } from "@lingui/react/macro";
import { Plus, X } from "lucide-react";
import { type ComponentProps, createContext, lazy, type ReactNode, use, useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { RecordField } from "@/parts";
import { Button, CheckField, Field, IconButton, inputLook, SelectField, TextArea, TextField } from "@/ui";
import { hasTemplates, typeOf } from "./catalogue";
import { useEditor, useGraph, useIsReadOnly } from "./context";
import { Code, ExpressionField, FieldOwner } from "./ExpressionField";
import { readForm } from "./form";
import { Part } from "./Part";
import { hostsIn, isRecord, readNumber, readValue, textOfValue } from "./values";

export type Schema = Schemas["FieldSchema"];
type Props = {
  /** The path of the value in the node, as findings name it. */ name: string;
  schema: Schema;
  value: unknown;
  onChange: (value: unknown) => void;
};

/** Removes an item of an array where more hangs on it than its value, and says whether it has. */
export const RemoveItem = createContext<(name: string, at: number) => boolean>(() => false);

/** The fields of an object by their schemas, in their order. What has no value is left out of it. */
export function SchemaFields({
  name,
  schemas,
  value,
  onChange,
}: {
  name: string;
  schemas: Record<string, Schema>;
  value: unknown;
  onChange: (value: unknown) => void;
}) {
  const members = isRecord(value) ? value : {};
  const sorted = Object.entries(schemas)
    .filter(([key]) => !key.startsWith("_"))
    .sort(([, a], [, b]) => (a.order ?? 99) - (b.order ?? 99));
  const put = (key: string, next: unknown) => {
    const { [key]: _, ...others } = members;
    onChange(next === undefined ? others : { ...members, [key]: next });
  };
  return sorted.map(([key, schema]) => (
    <SchemaField key={key} name={`${name}.${key}`} schema={schema} value={members[key]} onChange={(next) => put(key, next)} />
  ));
}

/** The field for one value, as its schema wants it. The server says what is wrong with it. */
function SchemaField(props: Props) {
  const { schema, value, name } = props;
  const { t } = useLingui();
  const node = useGraph().nodes[use(FieldOwner)];
  const label = schema.title ?? name.split(".").at(-1) ?? name;
  const base = { name, label, help: schema.description && <Help text={schema.description} />, optional: !schema.required };
  if (schema.type === "enum") return <EnumField {...props} base={base} />;
  if (schema.type === "boolean") {
    const isOn = (value ?? schema.default) === true;
    return <CheckField {...base} checked={isOn} onChange={({ target }) => props.onChange(target.checked)} />;
  }
  if (schema.type === "array" && schema.items) return <ArrayField {...props} base={base} />;
  const form = node?.type === "input" && name === "config.form" ? readForm(value) : undefined;
  if (node && form) {
    return (
      <Part>
        <FormBuilder node={node} form={form} label={label} />
      </Part>
    );
  }
  if (
    schema.type === "object" &&
    (schema.widget === "keyValue" || (schema.additionalProperties && schema.widget !== "code")) &&
    (value === undefined || isTexts(value))
  ) {
    return <PairsField {...props} base={base} />;
  }
  if (schema.type === "object" && Object.keys(schema.properties ?? {}).length > 0) {
    return (
      <Group {...base}>
        <SchemaFields name={name} schemas={schema.properties ?? {}} value={value} onChange={props.onChange} />
      </Group>
    );
  }
  const record = recordOf(name, schema, value);
  const chosen = { ...base, value: String(value ?? ""), onChange: (id: string) => props.onChange(id || undefined) };
  if (record === "/connections") return <ConnectionField {...chosen} />;
  if (record) return <RecordField {...chosen} of={record} first={t`None`} />;
  return <WrittenField {...props} base={base} />;
}

/** What is chosen from the tenant's own: connections, which hold what is secret, and workflows. An expression in its place stays text. */
function recordOf(name: string, { secret }: Schema, value: unknown): "/connections" | "/workflows" | undefined {
  const isOf = (prefix: string) => value === undefined || value === "" || (typeof value === "string" && value.startsWith(prefix));
  if (secret && /^config\.[^.[]+$/.test(name) && isOf("conn_")) return "/connections";
  return name === "config.workflowId" && isOf("wf_") ? "/workflows" : undefined;
}

const FormBuilder = lazy(() => import("./FormBuilder"));
const LazyConnectionField = lazy(() => import("@/parts/connections").then(({ ConnectionField }) => ({ default: ConnectionField })));

/** Chooses a connection; a new one begins with what the node calls. */
function ConnectionField(field: Omit<ComponentProps<typeof LazyConnectionField>, "isReadOnly">) {
  const { api } = useTenant();
  const { workflowId } = useEditor();
  const isReadOnly = useIsReadOnly();
  const nodeId = use(FieldOwner);
  const url = useGraph().nodes[nodeId]?.config.url;
  const { data: workflow } = api.useQuery("get", "/workflows/{id}", { params: { path: { id: workflowId } } });
  return (
    <Part lines={2}>
      <LazyConnectionField {...field} hosts={hostsIn(url)} subTenantId={workflow?.subTenantId} isReadOnly={isReadOnly} />
    </Part>
  );
}

const isTexts = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && Object.values(value).every((one) => typeof one !== "object" || one === null);

type Base = { base: { name: string; label: string; help?: ReactNode; optional: boolean } };

/** What a field is for, in brief until somebody points at it: the panel is narrow, and has many. */
export const Help = ({ text }: { text: string }) => (
  <span title={text} className="line-clamp-2 text-xs">
    {text}
  </span>
);

function EnumField({ schema, value, onChange, base }: Props & Base) {
  const { t } = useLingui();
  const labels = schema.enumLabels as string[] | Record<string, string> | undefined;
  const values = (schema.enum ?? []) as unknown[];
  const nameOf = (one: unknown, at: number) => (Array.isArray(labels) ? labels[at] : labels?.[String(one)]) ?? String(one);
  const standard = values.indexOf(schema.default);
  const first = standard >= 0 ? undefined : t`None`;
  return (
    <SelectField
      {...base}
      first={first}
      options={Object.fromEntries(values.map((one, at) => [String(one), nameOf(one, at)]))}
      value={String(value ?? schema.default ?? "")}
      onChange={({ target }) => onChange(values.find((one) => String(one) === target.value))}
    />
  );
}

/** Says that a text is handed over as it stands there, next to what the field is for. */
function LiteralHelp({ help }: { help?: ReactNode }) {
  const { t } = useLingui();
  return (
    <>
      {help}
      <span className="block text-xs text-warn">{t`Expressions are not filled in here: the node gets the text as it is.`}</span>
    </>
  );
}

/** A value that is written: text, a number, an expression, JSON. What was typed stays as it is while it means the same. */
function WrittenField({ name, schema, value, onChange, base }: Props & Base) {
  const node = useGraph().nodes[use(FieldOwner)];
  const { types } = useEditor();
  const isJSON = schema.type === "any" || schema.type === "object" || schema.type === "array";
  const read = (text: string) => (text === "" ? undefined : isJSON ? readValue(text) : schema.type === "number" ? readNumber(text) : text);
  const shown = !isJSON && typeof value === "string" ? value : textOfValue(value);
  const [typed, setTyped] = useState(shown);
  const text = JSON.stringify(read(typed)) === JSON.stringify(value) ? typed : shown;
  const change = (next: string) => {
    setTyped(next);
    onChange(read(next));
  };
  const placeholder = schema.placeholder ?? (schema.default === undefined ? undefined : textOfValue(schema.default));
  const isCode = isJSON || schema.widget === "code" || schema.widget === "expression";
  if (!isJSON && (schema.widget === "expression" || schema.widget === "code")) {
    const isProgram = schema.widget === "code";
    const isLiteral = !isProgram && node !== undefined && typeOf(types, node)?.isBuiltIn === false;
    const help = isLiteral ? <LiteralHelp help={base.help} /> : base.help;
    return <ExpressionField {...base} help={help} value={text} onChange={change} isProgram={isProgram} isLiteral={isLiteral} />;
  }
  const isLong = (isJSON && schema.widget !== "text") || text.includes("\n") || schema.widget === "textarea";
  if (node && hasTemplates(node) && name.startsWith("config.") && schema.type !== "number" && !schema.secret)
    return <ExpressionField {...base} placeholder={placeholder} value={text} onChange={change} isTemplate isLine={!isLong} />;
  const isLiteral = node && name.startsWith("config.") && text.includes("{{");
  const help = isLiteral ? <LiteralHelp help={base.help} /> : base.help;
  const field = { ...base, help, placeholder, isCode, value: text };
  if (isLong) {
    const lines = text.split("\n").length;
    const rows = Math.min(18, Math.max(lines, 3));
    return <TextArea {...field} rows={rows} onChange={({ target }) => change(target.value)} />;
  }
  const inputMode = schema.type === "number" ? "decimal" : undefined;
  return <TextField {...field} inputMode={inputMode} autoComplete="off" onChange={({ target }) => change(target.value)} />;
}

function Group({ label, help, children }: Base["base"] & { children: ReactNode }) {
  return (
    <fieldset className="flex flex-col gap-3 rounded-md border border-line p-3">
      <legend className="px-1 font-medium">{label}</legend>
      {help && <div className="text-quiet">{help}</div>}
      {children}
    </fieldset>
  );
}

/** Several values of one sort, each with a schema. */
function ArrayField({ name, schema, value, onChange, base }: Props & Base) {
  const { t } = useLingui();
  const items = Array.isArray(value) ? value : [];
  const schemaOfItem = schema.items as Schema;
  const put = (at: number, next: unknown) => onChange(items.map((one, place) => (place === at ? (next ?? null) : one)));
  const removeItem = use(RemoveItem);
  const without = (at: number) => {
    if (removeItem(name, at)) return;
    const left = items.filter((_, place) => place !== at);
    onChange(left.length > 0 ? left : undefined);
  };
  return (
    <Field {...base}>
      {({ id }) => (
        <div id={id} className="flex flex-col gap-2">
          {items.map((item, at) => {
            const path = `${name}[${at}]`;
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: items are told apart by their place
              <div key={at} className="flex items-start gap-1 rounded-md border border-line p-2">
                <div className="flex min-w-0 flex-1 flex-col gap-3">
                  {schemaOfItem.type === "object" && schemaOfItem.properties ? (
                    <SchemaFields name={path} schemas={schemaOfItem.properties} value={item} onChange={(next) => put(at, next)} />
                  ) : (
                    <SchemaField name={path} schema={schemaOfItem} value={item} onChange={(next) => put(at, next)} />
                  )}
                </div>
                <IconButton icon={X} label={t`Take away ${at + 1}`} onClick={() => without(at)} />
              </div>
            );
          })}
          <Button icon={Plus} label={t`Add to ${base.label}`} onClick={() => onChange([...items, schemaOfItem.type === "object" ? {} : ""])} />
        </div>
      )}
    </Field>
  );
}

/** Names and their values, such as headers. Those of a mapping are expressions. */
function PairsField({ value, onChange, base, name }: Props & Base) {
  const { t } = useLingui();
  const node = useGraph().nodes[use(FieldOwner)];
  const isMapping = node?.type === "transform";
  const isLiteral = !isMapping && !(node && hasTemplates(node));
  const of = isRecord(value) ? value : {};
  const [rows, setRows] = useState(() => Object.entries(of).map(([key, one]) => [key, textOfValue(one)] as [string, string]));
  const made = (pairs: [string, string][]) => Object.fromEntries(pairs.filter(([key]) => key !== "").map(([key, text]) => [key, readValue(text)]));
  const shown =
    JSON.stringify(made(rows)) === JSON.stringify(of) ? rows : Object.entries(of).map(([key, one]) => [key, textOfValue(one)] as [string, string]);
  const help = isLiteral && shown.some(([, text]) => text.includes("{{")) ? <LiteralHelp help={base.help} /> : base.help;
  const change = (next: [string, string][]) => {
    setRows(next);
    const pairs = made(next);
    onChange(Object.keys(pairs).length > 0 ? pairs : undefined);
  };
  const put = (at: number, place: 0 | 1, text: string) =>
    change(shown.map((row, one) => (one === at ? (place === 0 ? [text, row[1]] : [row[0], text]) : row)));
  return (
    <Field {...base} help={help}>
      {({ id }) => (
        <div id={id} className="flex flex-col gap-1.5">
          {shown.map(([key, text], at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row has no name before it was typed
            <div key={at} className="flex items-start gap-1">
              <input
                aria-label={t`Name ${at + 1}`}
                placeholder={t`Name`}
                className={`${inputLook} basis-2/5 font-mono`}
                value={key}
                onChange={({ target }) => put(at, 0, target.value)}
              />
              <div className="min-w-0 flex-1">
                <Code
                  name={`${name}.${key}`}
                  label={t`Value of ${key || at + 1}`}
                  placeholder={t`Value`}
                  isTemplate={!isMapping}
                  isLiteral={isLiteral}
                  isLine
                  value={text}
                  onChange={(next) => put(at, 1, next)}
                />
              </div>
              <IconButton icon={X} label={t`Take away ${key || at + 1}`} onClick={() => change(shown.filter((_, one) => one !== at))} />
            </div>
          ))}
          <Button icon={Plus} label={t`Add to ${base.label}`} onClick={() => setRows([...shown, ["", ""]])} />
        </div>
      )}
    </Field>
  );
}
