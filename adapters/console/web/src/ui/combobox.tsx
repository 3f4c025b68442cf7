import { useLingui } from "@lingui/react/macro";
import { ChevronDown } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { ErrorPanel } from "./error";
import { inputLook } from "./form";

export type Choice = {
  value: string;
  label: string;
  /** Tells those of one name apart. */
  detail?: string;
};

type Props = {
  /** What is chosen: its value, empty where nothing is, and its name. */
  value: string;
  name: string;
  /** What stands for no choice. */
  first: string;
  /** What the text found, in the order of the server; undefined while it is read. */
  choices: Choice[] | undefined;
  onChange: (value: string) => void;
  /** Is asked for what the text finds, and for nothing (undefined) once the list is closed. */
  onSearch: (text: string | undefined) => void;
  /** Reads more of the list, as somebody comes to its end. */
  onMore: () => void;
  /** Why the list, or more of it, could not be read. */
  error?: unknown;
  onRetry: () => void;
  className?: string;
  id?: string;
  "aria-label"?: string;
  "aria-describedby"?: string;
  "aria-invalid"?: true;
};

/** Chooses one of many, which the server finds by a few letters. It is used as a select is, by mouse or by keys. */
export function Combobox({ value, name, first, choices, onChange, onSearch, onMore, error, onRetry, className = "", ...field }: Props) {
  const { t } = useLingui();
  const id = useId();
  const [text, setText] = useState<string | undefined>(undefined); // while the list is open
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const isOpen = text !== undefined;
  const shown: Choice[] = [...(text ? [] : [{ value: "", label: first }]), ...(choices ?? [])];
  const active = Math.min(at, shown.length - 1);
  const search = (next: string | undefined) => {
    setText(next);
    setAt(0);
    onSearch(next);
  };
  const close = () => isOpen && search(undefined);
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    onChange(choice.value);
    search(undefined);
  };
  useEffect(() => {
    if (!isOpen) return;
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
    if (active === shown.length - 1) onMore();
  });
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !isOpen) search("");
    else if (step) setAt((active + step + shown.length) % Math.max(1, shown.length));
    else if (event.key === "Enter" && isOpen) error && !choices ? onRetry() : choose(shown[active]);
    else if (event.key === "Escape" && isOpen) close();
    else return;
    event.preventDefault();
  };
  return (
    <div className={`relative ${className}`} data-open-list={isOpen || undefined}>
      <input
        {...field}
        role="combobox"
        autoComplete="off"
        spellCheck={false}
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-activedescendant={isOpen && shown.length > 0 ? `${id}-${active}` : undefined}
        placeholder={isOpen ? t`Search by name` : undefined}
        className={`${inputLook} pr-8`}
        value={text ?? (value === "" ? first : name)}
        onChange={({ target, nativeEvent }) => search(isOpen ? target.value : ((nativeEvent as InputEvent).data ?? ""))}
        onClick={() => isOpen || search("")}
        onBlur={close}
        onKeyDown={onKey}
      />
      <ChevronDown aria-hidden className="pointer-events-none absolute top-2 right-2 size-4 text-quiet" />
      {isOpen && (
        <div
          className="absolute z-20 mt-1 w-full min-w-48 rounded-md border border-line bg-raised p-1 shadow-lg"
          onPointerDown={(event) => event.preventDefault()} // the text keeps the focus
        >
          <div
            ref={list}
            id={`${id}-list`}
            role="listbox"
            aria-label={t`Found`}
            aria-busy={(!choices && !error) || undefined}
            className="max-h-52 overflow-y-auto"
            onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => scrollTop + clientHeight > scrollHeight - 40 && onMore()}
          >
            {shown.map((choice, place) => (
              <div
                key={choice.value}
                id={`${id}-${place}`}
                role="option"
                tabIndex={-1}
                aria-selected={choice.value === value}
                className={`cursor-pointer truncate rounded px-2 py-1.5 ${place === active ? "bg-hover" : ""} ${choice.value === value ? "font-medium" : ""}`}
                onPointerMove={() => setAt(place)}
                onClick={() => choose(choice)}
                onKeyDown={onKey}
              >
                {choice.label}
                {choice.detail && <span className="block truncate text-xs font-normal text-quiet">{choice.detail}</span>}
              </div>
            ))}
          </div>
          {error ? <ErrorPanel error={error} onRetry={onRetry} /> : null}
          <p role="status" className={choices?.length === 0 ? "p-2 text-quiet" : "sr-only"}>
            {choices?.length === 0 && t`Nothing has this name.`}
          </p>
        </div>
      )}
    </div>
  );
}
