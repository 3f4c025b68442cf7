import { type LucideIcon, Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "./button";
import { type Column, Filters, type ItemsQuery, List } from "./list";
import { Empty, Page } from "./page";
import { useShortcut } from "./shortcuts";

type Props<T> = {
  title: string;
  description?: ReactNode;
  query: ItemsQuery<T>;
  columns: Column<T>[];
  /** What stands above the filters. */
  figures?: ReactNode;
  filters?: ReactNode;
  /** What to say and do where there is nothing yet. */
  empty: { title: string; text?: ReactNode };
  /** How somebody who may do so makes another one. */
  create?: false | { label: string; icon?: LucideIcon; dialog: (onClose: () => void) => ReactNode };
  /** What else can be done. */
  actions?: ReactNode;
  /** What stands below the list. */
  children?: ReactNode;
};

/** A page that lists something, with the button and the key "c" to make another one. */
export function ListPage<T extends { id: string }>({
  title,
  description,
  query,
  columns,
  figures,
  filters,
  empty,
  create,
  actions,
  children,
}: Props<T>) {
  const [isCreating, setCreating] = useState(false);
  const open = () => setCreating(true);
  useShortcut(create ? { keys: "c", label: create.label, run: open } : undefined);
  const buttons = (create || actions) && (
    <>
      {actions}
      {create && <Button look="primary" icon={create.icon ?? Plus} label={create.label} onClick={open} />}
    </>
  );
  return (
    <Page title={title} description={description} actions={buttons}>
      {figures}
      {filters && <Filters>{filters}</Filters>}
      <List
        label={title}
        columns={columns}
        rowKey={({ id }) => id}
        query={query}
        empty={
          <Empty title={empty.title} action={create && <div className="flex gap-2">{buttons}</div>}>
            {empty.text}
          </Empty>
        }
      />
      {children}
      {create && isCreating && create.dialog(() => setCreating(false))}
    </Page>
  );
}
