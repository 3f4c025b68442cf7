import { useLingui } from "@lingui/react/macro";
import { Download, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { base, type Schemas, useTenant } from "@/api";
import { useItems } from "@/parts";
import { Button, buttonColumn, type Column, inputLook, ListPage, Menu, MenuItem, SearchFilter, Time, useSearchParameters } from "@/ui";
import { ActorKind } from "./ActorKind";
import { EntryDialog } from "./EntryDialog";
import { exportAddress, filtersOf } from "./filters";

type Entry = Schemas["AuditEntry"];

export default function AuditLogPage() {
  const { t } = useLingui();
  const { api, id } = useTenant();
  const [parameters, setParameters] = useSearchParameters();
  const [shown, setShown] = useState<Entry | null>(null);
  const { from, to } = filtersOf(parameters);
  const query = useItems(api, "/audit-log", ["actor", "action", "target"], { query: { from, to } });
  const isFiltered = query.isFiltered || Boolean(from || to);
  const narrow = (part: { actor?: string; action?: string; target?: string }) => setParameters({ ...parameters, ...part, offset: undefined });
  const save = (format: "csv" | "jsonl") => {
    const link = document.createElement("a");
    link.href = exportAddress(`${base}api/t/${id}`, format, parameters);
    link.download = `audit-log.${format}`;
    link.click();
  };

  const columns: Column<Entry>[] = [
    { head: t`When`, cell: (entry) => <Time at={entry.at} />, width: "short" },
    {
      head: t`Who`,
      cell: ({ actor }) => (
        <div>
          {actor.id ? (
            <Narrow label={t`Only what ${actor.name || actor.id} did`} onClick={() => narrow({ actor: actor.id })}>
              {actor.name || actor.id}
            </Narrow>
          ) : (
            t`Somebody`
          )}
          <p className="text-quiet">
            <ActorKind kind={actor.kind} />
            {actor.subject && ` · ${actor.subject}`}
          </p>
        </div>
      ),
    },
    {
      head: t`What`,
      cell: (entry) => (
        <Narrow label={t`Only ${entry.action}`} onClick={() => narrow({ action: entry.action })}>
          <code>{entry.action}</code>
        </Narrow>
      ),
    },
    {
      head: t`To what`,
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
      head: t`Fields`,
      cell: (entry) => <span className="line-clamp-2 break-all text-quiet">{entry.changes.map(({ field }) => field).join(", ") || "—"}</span>,
      isMinor: true,
    },
    buttonColumn((entry) => (
      <Button
        label={t`Show`}
        onClick={() => setShown(entry)}
        aria-label={t`Show ${entry.action} by ${entry.actor.name || entry.actor.id || entry.actor.kind}`}
      />
    )),
  ];
  return (
    <ListPage
      title={t`Audit log`}
      description={t`Who changed what, with a key, in this console, as the operator or on the command line.`}
      query={{ ...query, isFiltered }}
      columns={columns}
      filters={
        <>
          <SearchFilter name="actor" label={t`Who: identifier`} />
          <SearchFilter name="action" label={t`What: changeWorkflow`} />
          <SearchFilter name="target" label={t`To what: identifier`} />
          <DayFilter name="from" label={t`From`} />
          <DayFilter name="to" label={t`Up to`} />
          {isFiltered && <Button icon={X} label={t`Clear the filters`} onClick={() => setParameters({})} />}
        </>
      }
      empty={{ title: t`Nothing was changed yet` }}
      actions={
        <Menu label={t`Export`} trigger={<Button icon={Download} label={t`Export`} />}>
          <MenuItem label="CSV" onSelect={() => save("csv")} />
          <MenuItem label={t`Lines of JSON`} onSelect={() => save("jsonl")} />
        </Menu>
      }
    >
      {shown && <EntryDialog entry={shown} onClose={() => setShown(null)} />}
    </ListPage>
  );
}

/** What narrows the list to entries with the same. */
function Narrow({ label, onClick, children }: { label: string; onClick: () => void; children: ReactNode }) {
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
