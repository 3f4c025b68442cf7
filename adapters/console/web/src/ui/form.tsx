import type { MessageDescriptor } from "@lingui/core";
import { useLingui } from "@lingui/react/macro";
import { type ComponentProps, createContext, type FormEvent, type ReactNode, use, useEffect, useId, useRef, useState } from "react";
import type { State } from "./badge";
import { ErrorPanel, fieldsOf } from "./error";

/** What is wrong with fields, by their names, where that comes from elsewhere than the answer to the form. */
export const FieldErrors = createContext<Record<string, string>>({});

/** A form whose fields show what the server says of them. What belongs to no field is shown above. */
export function Form({
  error,
  onSubmit,
  children,
  ...rest
}: Omit<ComponentProps<"form">, "onSubmit"> & { error?: unknown; onSubmit: (data: FormData) => void }) {
  const form = useRef<HTMLFormElement>(null);
  const errors = fieldsOf(error);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    event.stopPropagation(); // a form in a dialog is within another one of React's tree
    onSubmit(new FormData(event.currentTarget));
  };
  const [unplaced, setUnplaced] = useState<string[]>([]);
  useEffect(() => {
    setUnplaced(Object.keys(fieldsOf(error)).filter((name) => !form.current?.elements.namedItem(name)));
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);
  return (
    <FieldErrors value={errors}>
      <form ref={form} noValidate onSubmit={submit} className="flex flex-col gap-4" {...rest}>
        {error ? <ErrorPanel error={error} only={unplaced} /> : null}
        {children}
      </form>
    </FieldErrors>
  );
}

type FieldProps = {
  /** The path of the field in the request, as errors name it. */
  name: string;
  label: ReactNode;
  help?: ReactNode;
  /** Whether the field may stay empty, or when. */
  optional?: boolean | string;
  children: (props: { id: string; name: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
};

/** A field with its label, its help, and what is wrong with it. */
export function Field({ name, label, help, optional, children }: FieldProps) {
  const { t } = useLingui();
  const id = useId();
  const error = use(FieldErrors)[name];
  const described = [help && `${id}-help`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label} {optional && <span className="font-normal text-quiet">({optional === true ? t`optional` : optional})</span>}
      </label>
      {help && (
        <p id={`${id}-help`} className="text-quiet">
          {help}
        </p>
      )}
      {children({ id, name, "aria-describedby": described || undefined, "aria-invalid": error ? true : undefined })}
      {error && (
        <p id={`${id}-error`} className="text-danger">
          {error}
        </p>
      )}
    </div>
  );
}

export const inputLook =
  "w-full min-w-0 rounded-md border border-strong-line bg-panel px-2.5 py-1.5 text-text placeholder:text-quiet aria-invalid:border-danger disabled:opacity-60";

type Labelled = Omit<FieldProps, "children">;
/** Text that is read letter by letter is shown as code, and not spell-checked. */
type Typed = { isCode?: boolean };
const lookOf = ({ isCode }: Typed) => (isCode ? { className: `${inputLook} font-mono`, spellCheck: false } : { className: inputLook });

/** A line of text. */
export function TextField({ name, label, help, optional, isCode, ...rest }: Labelled & Typed & ComponentProps<"input">) {
  return <Field {...{ name, label, help, optional }}>{(field) => <input {...lookOf({ isCode })} {...rest} {...field} />}</Field>;
}

/** Several lines of text. */
export function TextArea({ name, label, help, optional, isCode, ...rest }: Labelled & Typed & ComponentProps<"textarea">) {
  return <Field {...{ name, label, help, optional }}>{(field) => <textarea rows={3} {...lookOf({ isCode })} {...rest} {...field} />}</Field>;
}

/** One of several values: what people read, by the values. `first` stands for none of them. */
export type Options = Record<string, string | MessageDescriptor | State>;

type SelectProps = Labelled & Omit<ComponentProps<"select">, "children"> & { first?: string; options?: Options; children?: ReactNode };

/** Chooses one of several values. Groups of options are its children. */
export function SelectField({ name, label, help, optional, first, options = {}, children, ...rest }: SelectProps) {
  return (
    <Field {...{ name, label, help, optional }}>
      {(field) => (
        <select className={inputLook} {...rest} {...field}>
          {first !== undefined && <option value="">{first}</option>}
          <OptionsOf options={options} />
          {children}
        </select>
      )}
    </Field>
  );
}

/** The `<option>` elements of a select. */
export function OptionsOf({ options }: { options: Options }) {
  const { i18n } = useLingui();
  return Object.entries(options).map(([value, text]) => (
    <option key={value} value={value}>
      {typeof text === "string" ? text : i18n._("word" in text ? text.word : text)}
    </option>
  ));
}

/** Yes or no. */
export function CheckField({ name, label, help, ...rest }: Omit<Labelled, "optional"> & ComponentProps<"input">) {
  const id = useId();
  const error = use(FieldErrors)[name];
  return (
    <div className="flex gap-2">
      <input type="checkbox" id={id} name={name} aria-describedby={help ? `${id}-help` : undefined} className="mt-1 size-4 accent-accent" {...rest} />
      <div>
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {help && (
          <p id={`${id}-help`} className="text-quiet">
            {help}
          </p>
        )}
        {error && <p className="text-danger">{error}</p>}
      </div>
    </div>
  );
}

/** The text of a field; undefined where it is empty. */
export function textOf(data: FormData, name: string): string | undefined {
  const value = data.get(name);
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}
