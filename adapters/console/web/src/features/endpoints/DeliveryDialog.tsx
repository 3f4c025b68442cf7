import { Plural, useLingui } from "@lingui/react/macro";
import { Send } from "lucide-react";
import { type Schemas, useTenant } from "@/api";
import { Badge, Button, Dialog, DialogButtons, duration, ErrorPanel, Fact, Facts, Identifier, Scroll, Skeleton, StateBadge, Table, Time } from "@/ui";
import { deliveryStates } from "./events";

type Attempt = Schemas["DeliveryAttempt"];

/** A delivery with its attempts, which can be sent again. */
export function DeliveryDialog({ deliveryId, onClose }: { deliveryId: string; onClose: () => void }) {
  const { t } = useLingui();
  const { api, can } = useTenant();
  const path = { params: { path: { id: deliveryId } } };
  const { data: delivery, error, refetch } = api.useQuery("get", "/deliveries/{id}", path);
  const redeliver = api.useMutation("post", "/deliveries/{id}/redeliver", { onSuccess: () => void refetch() });
  return (
    <Dialog title={delivery ? t`Delivery of ${delivery.eventType}` : t`Delivery`} isWide onClose={onClose}>
      <div className="flex flex-col gap-4">
        {error || redeliver.error ? <ErrorPanel error={redeliver.error ?? error} /> : null}
        {!delivery && !error && <Skeleton />}
        {delivery && (
          <>
            <Facts>
              <Fact label={t`State`} value={<StateBadge of={deliveryStates[delivery.status]} />} />
              <Fact label={t`Why`} value={delivery.reason} />
              <Fact label={t`Event`} value={<Identifier id={delivery.eventId} />} />
              <Fact label={t`Created`} value={<Time at={delivery.createdAt} />} />
              <Fact label={t`Next attempt`} value={delivery.nextAttemptAt && <Time at={delivery.nextAttemptAt} />} />
              <Fact label={t`Attempts`} value={<Plural value={delivery.attemptCount} one="# attempt" other="# attempts" />} />
            </Facts>
            <Table<Attempt>
              label={t`Attempts`}
              rowKey={({ number }) => String(number)}
              items={[...delivery.attempts].reverse()}
              columns={[
                { head: "#", cell: ({ number }) => number, isNumber: true },
                { head: t`Started`, cell: ({ startedAt }) => <Time at={startedAt} />, width: "short", isMinor: true },
                { head: t`Took`, cell: ({ durationMs }) => duration(durationMs), isNumber: true },
                {
                  head: t`Answer`,
                  cell: ({ succeeded, statusCode, code, error: why, excerpt, isManual }) => (
                    <div className="flex flex-col gap-1">
                      <Badge tone={succeeded ? "ok" : "danger"}>{statusCode ?? code}</Badge>
                      {why && <p>{why}</p>}
                      {excerpt && (
                        <Scroll label={t`Answer`} className="max-h-40 overflow-auto">
                          <pre className="break-all whitespace-pre-wrap text-quiet">{excerpt}</pre>
                        </Scroll>
                      )}
                      {isManual && <p className="text-quiet">{t`Somebody asked for it`}</p>}
                    </div>
                  ),
                },
              ]}
            />
          </>
        )}
        <DialogButtons>
          <Button label={t`Close`} onClick={onClose} />
          {can("editor") && delivery && (
            <Button look="primary" icon={Send} label={t`Send again`} isBusy={redeliver.isPending} onClick={() => redeliver.mutate(path)} />
          )}
        </DialogButtons>
      </div>
    </Dialog>
  );
}
