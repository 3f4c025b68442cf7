import { Trans, useLingui } from "@lingui/react/macro";
import { keepPreviousData } from "@tanstack/react-query";
import { Download, X } from "lucide-react";
import { useState } from "react";
import { base, type Schemas, useTenant } from "@/api";
import { Button, type Column, Empty, Filters, inputLook, List, Menu, MenuItem, Page, pageOf, SearchFilter, Time, useSearchParameters } from "@/ui";
import { ActorKind } from "./ActorKind";
import { EntryDialog } from "./EntryDialog";
import { exportAddress, filtersOf } from "./filters";

type Entry = Schemas["AuditEntry"];

export default function AuditLogPage() {
  const { t } = useLingui();
  const { api, id } = useTenant();
  const [parameters, setParameters] = useSearchParameters();
  const [shown, setShown] = useState<Entry | null>(null);
  const filters = filtersOf(parameters);
  const isFiltered = Object.values(filters).some(Boolean);
  const query = api.useQuery(
    "get",
    "/audit-log",
    { params: { query: { ...pageOf(parameters), ...filters } } },
    { placeholderData: keepPreviousData },
  );
  const narrow = (part: { actor?: string; action?: string; target?: string }) => setParameters({ ...parameters, ...part, offset: undefined });
  const save = (format: "csv" | "jsonl") => {
    const link = document.createElement("a");
    link.href = exportAddress(`${base}api/t/${id}`, format, parameters);
    link.download = `audit-log.${format}`;
    link.click();
  };

  const columns: Column<Entry>[] = [
    { head: <Trans>When</Trans>, cell: (entry) => <Time at={entry.at} /> },
    {
      head: <Trans>Who</Trans>,
      cell: ({ actor }) => (
        <div className="min-w-28 break-words">
          {actor.id ? (
            <Narrow label={t`Only what ${actor.name || actor.id} did`} onClick={() => narrow({ actor: actor.id })}>
              {actor.name || actor.id}
            </Narrow>
          ) : (
            <Trans>Somebody</Trans>
          )}
          <p className="text-quiet">
            <ActorKind kind={actor.kind} />
            {actor.subject && ` · ${actor.subject}`}
          </p>
        </div>
      ),
    },
    {
      head: <Trans>What</Trans>,
      cell: (entry) => (
        <Narrow label={t`Only ${entry.action}`} onClick={() => narrow({ action: entry.action })}>
          <code>{entry.action}</code>
        </Narrow>
      ),
    },
    {
      head: <Trans>To what</Trans>,
      cell: ({ target }) =>
        target.id ? (
          <Narrow label={t`Only what was done to ${target.id}`} onClick={() => narrow({ target: target.id })}>
            <code className="break-all">{target.id}</code>
          </Narrow>
        ) : (
          <code>{target.kind}</code>
        ),
      isMinor: true,
    },
    {
      head: <Trans>Fields</Trans>,
      cell: (entry) => <span className="line-clamp-2 break-all text-quiet">{entry.changes.map(({ field }) => field).join(", ") || "—"}</span>,
      isMinor: true,
    },
    {
      head: (
        <span className="sr-only">
          <Trans>Actions</Trans>
        </span>
      ),
      cell: (entry) => (
        <div className="-my-1 flex justify-end">
          <Button onClick={() => setShown(entry)} aria-label={t`Show ${entry.action} by ${entry.actor.name || entry.actor.id || entry.actor.kind}`}>
            <Trans>Show</Trans>
          </Button>
        </div>
      ),
    },
  ];
  return (
    <Page
      title={t`Audit log`}
      description={<Trans>Who changed what, with a key, in this console, as the operator or on the command line.</Trans>}
      actions={
        <Menu
          label={t`Export`}
          trigger={
            <Button icon={Download}>
              <Trans>Export</Trans>
            </Button>
          }
        >
          <MenuItem onSelect={() => save("csv")}>CSV</MenuItem>
          <MenuItem onSelect={() => save("jsonl")}>
            <Trans>Lines of JSON</Trans>
          </MenuItem>
        </Menu>
      }
    >
      <Filters>
        <SearchFilter name="actor" label={t`Who: identifier`} />
        <SearchFilter name="action" label={t`What: changeWorkflow`} />
        <SearchFilter name="target" label={t`To what: identifier`} />
        <DayFilter name="from" label={t`From`} />
        <DayFilter name="to" label={t`Up to`} />
        {isFiltered && (
          <Button icon={X} onClick={() => setParameters({})}>
            <Trans>Clear the filters</Trans>
          </Button>
        )}
      </Filters>
      <List
        label={t`Audit log`}
        columns={columns}
        rowKey={(entry) => entry.id}
        query={query}
        isFiltered={isFiltered}
        empty={<Empty title={<Trans>Nothing was changed yet</Trans>} />}
      />
      {shown && <EntryDialog entry={shown} onClose={() => setShown(null)} />}
    </Page>
  );
}

/** What narrows the list to entries with the same. */
function Narrow({ label, onClick, children }: { label: string; onClick: () => void; children: React.ReactNode }) {
  return (
    <button type="button" title={label} className="cursor-pointer text-left hover:underline" onClick={onClick}>
      {children}
    </button>
  );
}

function DayFilter({ name, label }: { name: string; label: string }) {
  const [parameters, setParameters] = useSearchParameters();
  return (
    <label className="flex items-center gap-1 text-quiet">
      {label}
      <input
        type="date"
        className={`${inputLook} !w-auto`}
        value={parameters[name] ?? ""}
        onChange={(event) => setParameters({ ...parameters, [name]: event.target.value || undefined, offset: undefined })}
      />
    </label>
  );
}
