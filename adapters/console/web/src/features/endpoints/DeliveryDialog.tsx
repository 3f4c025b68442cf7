import { Plural, Trans, useLingui } from "@lingui/react/macro";
import { Send } from "lucide-react";
import { type Schemas, useTenant } from "@/api";
import { Badge, Button, Dialog, DialogButtons, duration, ErrorPanel, Facts, Identifier, Scroll, Skeleton, Table, Time } from "@/ui";
import { DeliveryState } from "./State";

type Attempt = Schemas["DeliveryAttempt"];

/** A delivery with its attempts, which can be sent again. */
export function DeliveryDialog({ deliveryId, onClose }: { deliveryId: string; onClose: () => void }) {
  const { t } = useLingui();
  const { api, can } = useTenant();
  const path = { params: { path: { id: deliveryId } } };
  const { data: delivery, error, refetch } = api.useQuery("get", "/deliveries/{id}", path);
  const redeliver = api.useMutation("post", "/deliveries/{id}/redeliver", { onSuccess: () => void refetch() });
  return (
    <Dialog title={delivery ? t`Delivery of ${delivery.eventType}` : t`Delivery`} isOpen isWide onClose={onClose}>
      <div className="flex flex-col gap-4">
        {error || redeliver.error ? <ErrorPanel error={redeliver.error ?? error} /> : null}
        {!delivery && !error && <Skeleton />}
        {delivery && (
          <>
            <Facts
              facts={[
                [<Trans key="l">State</Trans>, <DeliveryState key="v" status={delivery.status} />],
                [<Trans key="l">Why</Trans>, delivery.reason],
                [<Trans key="l">Event</Trans>, <Identifier key="v" id={delivery.eventId} />],
                [<Trans key="l">Created</Trans>, <Time key="v" at={delivery.createdAt} />],
                [<Trans key="l">Next attempt</Trans>, delivery.nextAttemptAt && <Time key="v" at={delivery.nextAttemptAt} />],
                [<Trans key="l">Attempts</Trans>, <Plural key="v" value={delivery.attemptCount} one="# attempt" other="# attempts" />],
              ]}
            />
            <Table<Attempt>
              label={t`Attempts`}
              rowKey={({ number }) => String(number)}
              items={[...delivery.attempts].reverse()}
              columns={[
                { head: "#", cell: ({ number }) => number, isNumber: true },
                { head: <Trans>Started</Trans>, cell: ({ startedAt }) => <Time at={startedAt} />, isMinor: true },
                { head: <Trans>Took</Trans>, cell: ({ durationMs }) => duration(durationMs), isNumber: true },
                {
                  head: <Trans>Answer</Trans>,
                  cell: ({ succeeded, statusCode, code, error: why, excerpt, isManual }) => (
                    <div className="flex flex-col gap-1">
                      <Badge tone={succeeded ? "ok" : "danger"}>{statusCode ?? code}</Badge>
                      {why && <p className="break-all">{why}</p>}
                      {excerpt && (
                        <Scroll label={t`Answer`} className="max-h-40 overflow-auto">
                          <pre className="break-all whitespace-pre-wrap text-quiet">{excerpt}</pre>
                        </Scroll>
                      )}
                      {isManual && (
                        <p className="text-quiet">
                          <Trans>Somebody asked for it</Trans>
                        </p>
                      )}
                    </div>
                  ),
                },
              ]}
            />
          </>
        )}
        <DialogButtons>
          <Button onClick={onClose}>
            <Trans>Close</Trans>
          </Button>
          {can("editor") && delivery && (
            <Button look="primary" icon={Send} isBusy={redeliver.isPending} onClick={() => redeliver.mutate(path)}>
              <Trans>Send again</Trans>
            </Button>
          )}
        </DialogButtons>
      </div>
    </Dialog>
  );
}
