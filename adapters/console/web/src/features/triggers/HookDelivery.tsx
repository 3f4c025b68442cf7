import { useLingui } from "@lingui/react/macro";
import { RotateCcw } from "lucide-react";
import { useTenant } from "@/api";
import { verdicts } from "@/parts/triggers";
import { Button, Dialog, DialogButtons, ErrorPanel, Fact, Facts, Identifier, Json, Link, Skeleton, StateBadge, Time } from "@/ui";

type Props = { triggerId: string; deliveryId: string; onClose: () => void; onDone: (id: string) => void };

/** What a hook received, and what became of it. It can be played again. */
export function HookDelivery({ triggerId, deliveryId, onClose, onDone }: Props) {
  const { t } = useLingui();
  const { api, id: tenantId, can } = useTenant();
  const path = { params: { path: { id: triggerId, deliveryId } } };
  const { data: delivery, error } = api.useQuery("get", "/triggers/{id}/hook/deliveries/{deliveryId}", path);
  const replay = api.useMutation("post", "/triggers/{id}/hook/deliveries/{deliveryId}/replay", { onSuccess: (made) => onDone(made.id) });
  return (
    <Dialog title={t`What was received`} isWide onClose={onClose}>
      <div className="flex flex-col gap-4">
        {error || replay.error ? <ErrorPanel error={replay.error ?? error} /> : null}
        {!delivery && !error && <Skeleton />}
        {delivery && (
          <>
            <Facts>
              <Fact label={t`Verdict`} value={<StateBadge of={verdicts[delivery.verdict]} />} />
              <Fact label={t`Why`} value={delivery.code && <code>{delivery.code}</code>} />
              <Fact label={t`Received`} value={<Time at={delivery.receivedAt} />} />
              <Fact label={t`From`} value={delivery.client} />
              <Fact label={t`Identifier`} value={<Identifier id={delivery.id} />} />
              <Fact label={t`Repeats`} value={delivery.replayOf && <Identifier id={delivery.replayOf} />} />
              <Fact
                label={t`Runs`}
                value={
                  delivery.runIds.length > 0 &&
                  delivery.runIds.map((runId) => (
                    <Link key={runId} to={`/t/${tenantId}/runs/${runId}`} className="block truncate text-accent hover:underline">
                      {runId}
                    </Link>
                  ))
                }
              />
            </Facts>
            <Json
              label={t`What was received`}
              value={{
                method: delivery.method,
                path: delivery.path,
                query: delivery.query,
                headers: delivery.headers,
                body: bodyOf(delivery.body) ?? delivery.bodyBase64,
              }}
            />
          </>
        )}
        <DialogButtons>
          <Button label={t`Close`} onClick={onClose} />
          {can("editor") && delivery && (
            <Button look="primary" icon={RotateCcw} label={t`Replay`} isBusy={replay.isPending} onClick={() => replay.mutate(path)} />
          )}
        </DialogButtons>
      </div>
    </Dialog>
  );
}

/** A body is shown as the JSON that it is, or as its text. */
function bodyOf(text: string | undefined): unknown {
  try {
    return text && JSON.parse(text);
  } catch {
    return text;
  }
}
