import { Trans, useLingui } from "@lingui/react/macro";
import type { Schemas } from "@/api";
import { Dialog, Facts, Identifier, Json, Table } from "@/ui";
import { ActorKind } from "./ActorKind";

/** An entry with all that it says: what each field was before, and became. */
export function EntryDialog({ entry, onClose }: { entry: Schemas["AuditEntry"]; onClose: () => void }) {
  const { t, i18n } = useLingui();
  const { actor, target } = entry;
  return (
    <Dialog
      title={entry.action}
      description={new Date(entry.at).toLocaleString(i18n.locale, { dateStyle: "long", timeStyle: "long" })}
      isOpen
      isWide
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <Facts
          facts={[
            [
              <Trans key="who">Who</Trans>,
              <span key="v">
                {actor.name || actor.id} <span className="text-quiet">{<ActorKind kind={actor.kind} />}</span>
              </span>,
            ],
            [<Trans key="id">Identifier of who</Trans>, actor.id && <Identifier key="v" id={actor.id} />],
            [<Trans key="subject">Subject</Trans>, actor.subject],
            [<Trans key="target">To what</Trans>, target.id ? <Identifier key="v" id={target.id} /> : target.kind],
            [<Trans key="address">Address</Trans>, entry.address],
            [<Trans key="request">Request</Trans>, entry.requestId && <Identifier key="v" id={entry.requestId} />],
            [<Trans key="place">Place in the chain</Trans>, entry.sequence],
            [<Trans key="hash">Hash of the chain</Trans>, entry.hash && <Identifier key="v" id={entry.hash} />],
          ]}
        />
        {entry.changes.length === 0 ? (
          <p className="text-quiet">
            <Trans>No field changed.</Trans>
          </p>
        ) : (
          <Table
            label={t`What changed`}
            rowKey={(change) => change.field}
            items={entry.changes}
            columns={[
              { head: <Trans>Field</Trans>, cell: (change) => <code className="break-all">{change.field}</code> },
              { head: <Trans>Before</Trans>, cell: (change) => <Value value={change.old} label={t`${change.field} before`} /> },
              { head: <Trans>After</Trans>, cell: (change) => <Value value={change.new} label={t`${change.field} after`} /> },
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
