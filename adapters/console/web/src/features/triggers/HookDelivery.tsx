import { Trans, useLingui } from "@lingui/react/macro";
import { RotateCcw } from "lucide-react";
import { useTenant } from "@/api";
import { Badge, Button, Dialog, DialogButtons, ErrorPanel, Facts, Identifier, Json, Link, Skeleton, Time } from "@/ui";
import { verdicts } from "./words";

type Props = { triggerId: string; deliveryId: string; onClose: () => void; onDone: (id: string) => void };

/** What a hook received, and what became of it. It can be played again. */
export function HookDelivery({ triggerId, deliveryId, onClose, onDone }: Props) {
  const { t, i18n } = useLingui();
  const { api, id: tenantId, can } = useTenant();
  const path = { params: { path: { id: triggerId, deliveryId } } };
  const { data: delivery, error } = api.useQuery("get", "/triggers/{id}/hook/deliveries/{deliveryId}", path);
  const replay = api.useMutation("post", "/triggers/{id}/hook/deliveries/{deliveryId}/replay", { onSuccess: (made) => onDone(made.id) });
  const word = delivery && verdicts[delivery.verdict];
  return (
    <Dialog title={t`What was received`} isOpen isWide onClose={onClose}>
      <div className="flex flex-col gap-4">
        {error || replay.error ? <ErrorPanel error={replay.error ?? error} /> : null}
        {!delivery && !error && <Skeleton />}
        {delivery && word && (
          <>
            <Facts
              facts={[
                [
                  <Trans key="l">Verdict</Trans>,
                  <Badge key="v" tone={word.tone}>
                    {i18n._(word.word)}
                  </Badge>,
                ],
                [<Trans key="l">Why</Trans>, delivery.code && <code key="v">{delivery.code}</code>],
                [<Trans key="l">Received</Trans>, <Time key="v" at={delivery.receivedAt} />],
                [<Trans key="l">From</Trans>, delivery.client],
                [<Trans key="l">Identifier</Trans>, <Identifier key="v" id={delivery.id} />],
                [<Trans key="l">Repeats</Trans>, delivery.replayOf && <Identifier key="v" id={delivery.replayOf} />],
                [
                  <Trans key="l">Runs</Trans>,
                  delivery.runIds.length > 0 &&
                    delivery.runIds.map((runId) => (
                      <Link key={runId} to={`/t/${tenantId}/runs/${runId}`} className="block truncate text-accent hover:underline">
                        {runId}
                      </Link>
                    )),
                ],
              ]}
            />
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
          <Button onClick={onClose}>
            <Trans>Close</Trans>
          </Button>
          {can("editor") && delivery && (
            <Button look="primary" icon={RotateCcw} isBusy={replay.isPending} onClick={() => replay.mutate(path)}>
              <Trans>Replay</Trans>
            </Button>
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
