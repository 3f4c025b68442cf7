import { useLingui } from "@lingui/react/macro";
import type { Schemas } from "@/api";
import { Dialog, Fact, Facts, Identifier, Json, Table } from "@/ui";
import { ActorKind } from "./ActorKind";

/** An entry with all that it says: what each field was before, and became. */
export function EntryDialog({ entry, onClose }: { entry: Schemas["AuditEntry"]; onClose: () => void }) {
  const { t, i18n } = useLingui();
  const { actor, target } = entry;
  return (
    <Dialog
      title={entry.action}
      description={new Date(entry.at).toLocaleString(i18n.locale, { dateStyle: "long", timeStyle: "long" })}
      isWide
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <Facts>
          <Fact
            label={t`Who`}
            value={
              <span>
                {actor.name || actor.id} <span className="text-quiet">{<ActorKind kind={actor.kind} />}</span>
              </span>
            }
          />
          <Fact label={t`Identifier of who`} value={actor.id && <Identifier id={actor.id} />} />
          <Fact label={t`Subject`} value={actor.subject} />
          <Fact label={t`To what`} value={target.id ? <Identifier id={target.id} /> : target.kind} />
          <Fact label={t`Address`} value={entry.address} />
          <Fact label={t`Request`} value={entry.requestId && <Identifier id={entry.requestId} />} />
          <Fact label={t`Place in the chain`} value={entry.sequence} />
          <Fact label={t`Hash of the chain`} value={entry.hash && <Identifier id={entry.hash} />} />
        </Facts>
        {entry.changes.length === 0 ? (
          <p className="text-quiet">{t`No field changed.`}</p>
        ) : (
          <Table
            label={t`What changed`}
            rowKey={(change) => change.field}
            items={entry.changes}
            columns={[
              { head: t`Field`, cell: (change) => <code className="break-all">{change.field}</code> },
              { head: t`Before`, cell: (change) => <Value value={change.old} label={t`${change.field} before`} /> },
              { head: t`After`, cell: (change) => <Value value={change.new} label={t`${change.field} after`} /> },
            ]}
          />
        )}
      </div>
    </Dialog>
  );
}

function Value({ value, label }: { value: unknown; label: string }) {
  if (value === undefined || value === null) return <span className="text-quiet">—</span>;
  if (typeof value === "object") return <Json value={value} label={label} />;
  return <span className="break-all">{String(value)}</span>;
}
