import { useLingui } from "@lingui/react/macro";
import { ArrowDown, ArrowUp, ChevronDown, ChevronRight, Plus, X } from "lucide-react";
import { use, useEffect, useId, useRef, useState } from "react";
import type { FieldSchema } from "@/parts";
import { Button, CheckField, FieldErrors, IconButton, inputLook, SelectField, TextField } from "@/ui";
import { AnswerPreview } from "./AnswerPreview";
import { useEditor, useIsReadOnly } from "./context";
import {
  changed,
  type Form,
  type Kind,
  kindOf,
  kinds,
  moved,
  nameFor,
  type Option,
  ofKind,
  optionsIn,
  renamed,
  sorted,
  withField,
  withOptions,
  withoutField,
} from "./form";
import type { GraphNode } from "./model";

/** Builds the form that a node asks a person to fill in, and shows it as the page for answers does. */
export default function FormBuilder({ node, form, label }: { node: GraphNode; form: Form; label: string }) {
  const { t } = useLingui();
  const { editing } = useEditor();
  const isReadOnly = useIsReadOnly();
  const [opened, setOpened] = useState("");
  const [fresh, setFresh] = useState(""); // a field whose name still follows its title
  const keys = useRef(new Map<string, string>()); // of the fields that got another name, so that they stay what is on the screen
  const focused = useRef<string>(undefined); // the button that keeps the focus while its field moves
  const id = useId();
  const errors = use(FieldErrors);
  useEffect(() => {
    if (focused.current) document.getElementById(focused.current)?.focus();
    focused.current = undefined;
  });
  const fields = sorted(form);
  /** Letters in a row are one step, anything else is one of its own. */
  const put = (next: Form, typed?: string) => {
    const { form: _, ...config } = node.config;
    const change = { config: Object.keys(next).length > 0 ? { ...config, form: next } : config };
    editing.run({ do: "change", node: node.id, change }, typed && `${node.id}:form:${typed}`);
  };
  const add = () => {
    const name = nameFor(t`Field ${fields.length + 1}`, Object.keys(form));
    keys.current.set(name, `new ${keys.current.size}`);
    put(withField(form, name));
    setOpened(name);
    setFresh(name);
  };
  const rename = (name: string, to: string) => {
    keys.current.set(to, keys.current.get(name) ?? name);
    setOpened(to);
  };
  const retitle = (name: string, title: string) => {
    const next = changed(form, name, { title: title || undefined });
    const others = Object.keys(form).filter((one) => one !== name);
    const to = name === fresh && title ? nameFor(title, others) : name;
    put(renamed(next, name, to), `${fields.findIndex(([one]) => one === name)}:title`);
    if (to === name) return;
    rename(name, to);
    setFresh(to);
  };
  const move = (name: string, by: number) => {
    focused.current = `${id}-${name}-${by}`;
    put(moved(form, name, by));
  };
  const isAbout = (name: string) => (path: string) => {
    const field = `config.form.${name}`;
    return path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
  };
  const messagesOf = (isOne: (path: string) => boolean) =>
    Object.entries(errors)
      .filter(([path]) => isOne(path))
      .map(([, message]) => message);
  const unplaced = messagesOf((path) => /^config\.form\b/.test(path) && !fields.some(([name]) => isAbout(name)(path)));
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="mb-1 font-medium">{label}</legend>
      <Messages of={unplaced} />
      {fields.length > 0 && (
        <ol className="flex flex-col gap-1.5">
          {fields.map(([name, field], at) => {
            const title = field.title || name;
            const isOpen = opened === name;
            const messages = messagesOf(isAbout(name));
            return (
              <li key={keys.current.get(name) ?? name} aria-label={title} className="rounded-md border border-line">
                <div className="flex items-center">
                  <button
                    type="button"
                    aria-expanded={isOpen}
                    className="flex min-h-9 min-w-0 flex-1 items-center gap-1.5 pl-2 text-left"
                    onClick={() => setOpened(isOpen ? "" : name)}
                  >
                    {isOpen ? <ChevronDown aria-hidden className="size-4 shrink-0" /> : <ChevronRight aria-hidden className="size-4 shrink-0" />}
                    <span className={`min-w-0 truncate ${messages.length > 0 ? "text-danger" : ""}`}>{title}</span>
                    <span className="min-w-0 shrink-[20] truncate text-xs text-quiet">
                      <KindName field={field} />
                    </span>
                  </button>
                  {!isReadOnly && (
                    <>
                      <IconButton
                        id={`${id}-${name}--1`}
                        icon={ArrowUp}
                        label={t`Move ${title} up`}
                        disabled={at === 0}
                        onClick={() => move(name, -1)}
                      />
                      <IconButton
                        id={`${id}-${name}-1`}
                        icon={ArrowDown}
                        label={t`Move ${title} down`}
                        disabled={at === fields.length - 1}
                        onClick={() => move(name, 1)}
                      />
                      <IconButton icon={X} label={t`Take away ${title}`} onClick={() => put(withoutField(form, name))} />
                    </>
                  )}
                </div>
                {isOpen && (
                  <FieldErrors value={{}}>
                    <div className="flex flex-col gap-3 border-t border-line p-3">
                      <Messages of={messages} />
                      <Settings
                        name={name}
                        field={field}
                        isFresh={name === fresh}
                        isTaken={(to) => to in form}
                        onTitle={(next) => retitle(name, next)}
                        onRename={(to) => {
                          put(renamed(form, name, to));
                          rename(name, to);
                          setFresh("");
                        }}
                        onChange={(change, typed) => put(changed(form, name, change), typed && `${name}:${typed}`)}
                        onKind={(kind) => put({ ...form, [name]: ofKind(field, kind) })}
                      />
                    </div>
                  </FieldErrors>
                )}
              </li>
            );
          })}
        </ol>
      )}
      {!isReadOnly && <Button icon={Plus} label={t`Add a field`} onClick={add} />}
      {fields.length === 0 && <p className="text-xs text-quiet">{t`Without fields, a person gives a single answer.`}</p>}
      <AnswerPreview config={node.config} fields={fields} />
    </fieldset>
  );
}

const Messages = ({ of }: { of: string[] }) =>
  of.map((message) => (
    <p key={message} className="text-danger">
      {message}
    </p>
  ));

function useKindNames(): Record<Kind, string> {
  const { t } = useLingui();
  return { text: t`Line of text`, long: t`Several lines`, number: t`Number`, yesno: t`Yes or no`, choice: t`Choice` };
}

function KindName({ field }: { field: FieldSchema }) {
  const names = useKindNames();
  const kind = kindOf(field);
  return kind ? names[kind] : field.type;
}

type SettingsProps = {
  name: string;
  field: FieldSchema;
  isFresh: boolean;
  isTaken: (name: string) => boolean;
  onTitle: (title: string) => void;
  onRename: (to: string) => void;
  /** `typed` says what is typed letter by letter. */
  onChange: (change: Partial<FieldSchema>, typed?: string) => void;
  onKind: (kind: Kind) => void;
};

/** Everything about one field. */
function Settings({ name, field, isFresh, isTaken, onTitle, onRename, onChange, onKind }: SettingsProps) {
  const { t } = useLingui();
  const kind = kindOf(field);
  const names = useKindNames();
  const path = `form.${name}`;
  const text = (member: "description" | "placeholder") => ({
    name: `${path}.${member}`,
    optional: true,
    maxLength: 1000,
    value: field[member] ?? "",
    onChange: ({ target }: { target: { value: string } }) => onChange({ [member]: target.value || undefined }, member),
  });
  const bound = (member: "min" | "max") => ({
    name: `${path}.${member}`,
    type: "number",
    optional: true,
    value: field[member] ?? "",
    onChange: ({ target }: { target: { value: string } }) => onChange({ [member]: target.value === "" ? undefined : Number(target.value) }, member),
  });
  return (
    <>
      <TextField
        name={`${path}.title`}
        label={t`Title`}
        maxLength={1000}
        autoFocus={isFresh}
        value={field.title ?? ""}
        onChange={({ target }) => onTitle(target.value)}
      />
      <SelectField
        name={`${path}.type`}
        label={t`Kind`}
        first={kind ? undefined : field.type}
        options={Object.fromEntries(kinds.map((one) => [one, names[one]]))}
        value={kind ?? ""}
        onChange={({ target }) => onKind(target.value as Kind)}
      />
      {kind === "choice" && <Options field={field} onChange={onChange} />}
      {kind === "number" && (
        <>
          <div className="grid grid-cols-2 gap-3">
            <TextField {...bound("min")} label={t`At least`} />
            <TextField {...bound("max")} label={t`At most`} />
          </div>
          <CheckField
            name={`${path}.integer`}
            label={t`Whole numbers only`}
            checked={field.integer ?? false}
            onChange={({ target }) => onChange({ integer: target.checked || undefined })}
          />
        </>
      )}
      <CheckField
        name={`${path}.required`}
        label={t`It must be filled in`}
        checked={field.required ?? false}
        onChange={({ target }) => onChange({ required: target.checked || undefined })}
      />
      <TextField {...text("description")} label={t`Help`} />
      {(kind === "text" || kind === "long" || kind === "number") && <TextField {...text("placeholder")} label={t`Example in the empty field`} />}
      <Name key={name} name={name} isTaken={isTaken} onRename={onRename} />
    </>
  );
}

/** What expressions call the field. It is taken once somebody leaves it: half a name might be another field's. */
function Name({ name, isTaken, onRename }: Pick<SettingsProps, "name" | "isTaken" | "onRename">) {
  const { t } = useLingui();
  const [typed, setTyped] = useState(name);
  const isWrong = typed !== name && (typed.trim() === "" || isTaken(typed.trim()));
  const take = () => !isWrong && typed.trim() !== name && onRename(typed.trim());
  return (
    <FieldErrors value={isWrong ? { [`form.${name}.name`]: typed.trim() === "" ? t`It needs a name.` : t`Another field has this name.` } : {}}>
      <TextField
        name={`form.${name}.name`}
        label={t`Name in expressions`}
        isCode
        maxLength={255}
        autoComplete="off"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onBlur={take}
        onKeyDown={({ key }) => key === "Enter" && take()}
      />
    </FieldErrors>
  );
}

/** The values that can be chosen, and what people read in their place. */
function Options({ field, onChange }: Pick<SettingsProps, "field" | "onChange">) {
  const { t } = useLingui();
  const options = optionsIn(field);
  const put = (next: Option[], typed?: string) => onChange(withOptions(next), typed);
  const edit = (at: number, part: Partial<Option>) =>
    put(
      options.map((option, place) => (place === at ? { ...option, ...part } : option)),
      `option ${at}`,
    );
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 font-medium">{t`Choices`}</legend>
      {options.map(({ value, label }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: choices are told apart by their place
        <div key={at} className="flex gap-1">
          <input
            aria-label={t`Value ${at + 1}`}
            placeholder={t`Value`}
            className={inputLook}
            value={String(value)}
            onChange={({ target }) => edit(at, { value: target.value })}
          />
          <input
            aria-label={t`What people read for ${String(value) || at + 1}`}
            placeholder={String(value) || t`Shown as`}
            className={inputLook}
            value={label}
            onChange={({ target }) => edit(at, { label: target.value })}
          />
          <IconButton icon={X} label={t`Take away ${String(value) || at + 1}`} onClick={() => put(options.filter((_, place) => place !== at))} />
        </div>
      ))}
      <Button icon={Plus} label={t`Add a choice`} onClick={() => put([...options, { value: "", label: "" }])} />
    </fieldset>
  );
}
