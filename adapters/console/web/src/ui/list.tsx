import { Plural, Trans, useLingui } from "@lingui/react/macro";
import { ChevronLeft, ChevronRight, Search } from "lucide-react";
import { type CSSProperties, type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "./button";
import { ErrorPanel } from "./error";
import { inputLook, type Options, OptionsOf } from "./form";
import { number } from "./numbers";
import { Scroll } from "./scroll";
import { useSearchParameters } from "./search";

/** What a list shows of each item. */
export type Column<T> = {
  head: ReactNode;
  cell: (item: T) => ReactNode;
  /** Whether narrow windows leave it out. */
  isMinor?: boolean;
  /** Numbers stand on the right. */
  isNumber?: boolean;
  /** What holds a word or two, or an icon, and not a text. Numbers are short by themselves. */
  width?: keyof typeof widths;
};

/** Widths in rem, in narrow windows and in others. They do not depend on what is there, so that nothing moves when rows come. */
const widths = {
  icon: { narrow: 3.5, wide: 3.5, look: "w-14" },
  short: { narrow: 7, wide: 9.5, look: "w-28 md:w-38" },
  /** Takes its part of what is left, and at least this. */
  text: { narrow: 6.25, wide: 9, look: "" },
};

const widthOf = ({ width, isNumber }: Column<never>) => widths[width ?? (isNumber ? "short" : "text")];

/** A page of a list, as every list of the API answers. */
export type Items<T> = { items: T[]; total: number; limit: number; offset: number };

/** What a query for a page of a list gives, and whether filters narrow it. */
export type ItemsQuery<T> = {
  data?: Items<T> | undefined;
  error: unknown;
  isPending: boolean;
  isPlaceholderData?: boolean;
  refetch: () => unknown;
  isFiltered: boolean;
};

/** The last column: a menu of what can be done with an item. */
export const actionsColumn = <T,>(cell: (item: T) => ReactNode): Column<T> => ({ ...buttonColumn(cell), width: "icon" });

/** The last column: a button that does the one thing that can be done with an item. */
export const buttonColumn = <T,>(cell: (item: T) => ReactNode): Column<T> => ({
  head: (
    <span className="sr-only">
      <Trans>Actions</Trans>
    </span>
  ),
  cell: (item) => <div className="-my-1 flex justify-end">{cell(item)}</div>,
  width: "short",
});

type Props<T> = {
  /** What the list is of, for who does not see it. */
  label: string;
  columns: Column<T>[];
  rowKey: (item: T) => string;
  query: ItemsQuery<T>;
  /** What to say where there is nothing, and nothing was filtered. */
  empty: ReactNode;
};

/** A list that the server pages. The page stands in the address, as `offset`. */
export function List<T>({ label, columns, rowKey, query, empty }: Props<T>) {
  const { data, error, isPending, isPlaceholderData, refetch, isFiltered } = query;
  const [parameters, setParameters] = useSearchParameters();
  // The last item of the last page may have gone.
  const last =
    data && !isPlaceholderData && data.items.length === 0 && data.total > 0 ? Math.floor((data.total - 1) / data.limit) * data.limit : undefined;
  useEffect(() => {
    if (last !== undefined && parameters.offset) setParameters({ ...parameters, offset: last ? String(last) : undefined });
  }, [last, parameters, setParameters]);
  if (error && !data) return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  if (data && data.total === 0) {
    return isFiltered ? (
      <p className="py-8 text-center text-quiet">
        <Trans>Nothing fits these filters.</Trans>
      </p>
    ) : (
      empty
    );
  }
  return (
    <div className="flex flex-col gap-2">
      {error ? <ErrorPanel error={error} onRetry={() => void refetch()} /> : null}
      <Table label={label} columns={columns} rowKey={rowKey} items={isPending ? undefined : data?.items} isDimmed={isPlaceholderData} />
      {data && <Pages {...data} onOffset={(offset) => setParameters({ ...parameters, offset: offset ? String(offset) : undefined })} />}
    </div>
  );
}

type TableProps<T> = { label: string; columns: Column<T>[]; rowKey: (item: T) => string; items: T[] | undefined; isDimmed?: boolean };

/** A table; rows of nothing while there are no items. */
export function Table<T>({ label, columns, rowKey, items, isDimmed }: TableProps<T>) {
  const least = (of: "narrow" | "wide") => `${columns.reduce((sum, one) => sum + (of === "narrow" && one.isMinor ? 0 : widthOf(one)[of]), 0)}rem`;
  const cellLook = (column: Column<T>) =>
    `px-2 py-2 align-top md:px-3 ${widthOf(column) === widths.text ? "wrap-anywhere" : "wrap-break-word"} ${column.isMinor ? "max-md:hidden" : ""} ${column.isNumber ? "text-right tabular-nums" : ""}`;
  return (
    <Scroll label={label} className="relative overflow-x-auto rounded-lg border border-line bg-panel">
      <table
        aria-label={label}
        aria-busy={!items || undefined}
        className={`w-full min-w-(--narrow) table-fixed border-collapse text-left md:min-w-(--wide) ${isDimmed ? "opacity-60" : ""}`}
        style={{ "--narrow": least("narrow"), "--wide": least("wide") } as CSSProperties}
      >
        <thead>
          <tr className="border-b border-line text-quiet">
            {columns.map((column, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns stay where they are
              <th key={at} scope="col" className={`font-medium ${widthOf(column).look} ${cellLook(column)}`}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items?.map((item) => (
            <tr key={rowKey(item)} className="border-b border-line last:border-0 hover:bg-hover">
              {columns.map((column, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns stay where they are
                <td key={at} className={cellLook(column)}>
                  {column.cell(item)}
                </td>
              ))}
            </tr>
          ))}
          {!items &&
            Array.from({ length: 5 }, (_, row) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: all rows are the same
              <tr key={row} className="border-b border-line last:border-0">
                {columns.map((column, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: columns stay where they are
                  <td key={at} className={cellLook(column)}>
                    <div className="skeleton h-5" />
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Pages({ total, limit, offset, items, onOffset }: Items<unknown> & { onOffset: (offset: number) => void }) {
  const first = offset + 1;
  const last = offset + items.length;
  return (
    <div className="flex flex-wrap items-center justify-between gap-2 text-quiet">
      <p role="status">
        {total > items.length ? (
          <Trans>
            {number(first)}–{number(last)} of {number(total)}
          </Trans>
        ) : (
          <Plural value={total} one="# entry" other="# entries" />
        )}
      </p>
      {total > limit && (
        <div className="flex gap-2">
          <Button icon={ChevronLeft} label={<Trans>Newer</Trans>} disabled={offset === 0} onClick={() => onOffset(Math.max(0, offset - limit))} />
          <Button icon={ChevronRight} label={<Trans>Older</Trans>} disabled={last >= total} onClick={() => onOffset(offset + limit)} />
        </div>
      )}
    </div>
  );
}

/** Filters above a list. */
export function Filters({ children }: { children: ReactNode }) {
  return <search className="flex flex-wrap items-center gap-2">{children}</search>;
}

/** Searches as somebody types, a moment after the last key. The text stands in the address. */
export function SearchFilter({ name = "search", label }: { name?: string; label?: string }) {
  const { t } = useLingui();
  const [parameters, setParameters] = useSearchParameters();
  const current = parameters[name] ?? "";
  const [text, setText] = useState(current);
  const sent = useRef(current);
  useEffect(() => {
    if (current !== sent.current) {
      sent.current = current;
      setText(current);
    }
  }, [current]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text;
      setParameters({ ...parameters, [name]: text || undefined, offset: undefined });
    }, 250);
    return () => clearTimeout(timer);
  }, [text, name, parameters, setParameters]);
  return (
    <div className="relative grow basis-52">
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-quiet" />
      <input
        type="search"
        data-search
        aria-label={label ?? t`Search`}
        placeholder={label ?? t`Search`}
        className={`${inputLook} pl-8`}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
}

/** A filter with a few values, of which `all` takes everything. */
export function SelectFilter({ name, label, all, options }: { name: string; label: string; all: string; options: Options }) {
  const [parameters, setParameters] = useSearchParameters();
  return (
    <select
      aria-label={label}
      className={`${inputLook} !w-auto`}
      value={parameters[name] ?? ""}
      onChange={(event) => setParameters({ ...parameters, [name]: event.target.value || undefined, offset: undefined })}
    >
      <option value="">{all}</option>
      <OptionsOf options={options} />
    </select>
  );
}

/** Takes what is on, what is off, or both. */
export function OnOffFilter() {
  const { t } = useLingui();
  return <SelectFilter name="isActive" label={t`State`} all={t`On and off`} options={{ true: t`On`, false: t`Off` }} />;
}
