import { useLingui } from "@lingui/react/macro";
import type { Schemas } from "@/api";
import { ErrorPanel, Skeleton, Table } from "@/ui";
import { localTime } from "./config";
import { shifts } from "./words";

type FireTime = Schemas["FireTime"];
type Props = { preview: Schemas["SchedulePreview"] | undefined; error: unknown };

/** When a schedule fires next, and why a change of the clocks moves a time. */
export function SchedulePreview({ preview, error }: Props) {
  const { t, i18n } = useLingui();
  if (error) return <ErrorPanel error={error} />;
  if (!preview) return <Skeleton lines={2} />;
  return (
    <div className="flex flex-col gap-2">
      {preview.reason && <p className="text-warn">{preview.reason}</p>}
      {preview.items.length > 0 && (
        <Table<FireTime>
          label={t`Next times`}
          rowKey={({ scheduledAt }) => scheduledAt}
          items={preview.items}
          columns={[
            {
              head: preview.timezone ?? t`Time`,
              cell: ({ localTime: local, shift }) => (
                <>
                  <span className="whitespace-nowrap">{localTime(local, i18n.locale)}</span>
                  {shift && <p className="text-warn">{i18n._(shifts[shift])}</p>}
                </>
              ),
            },
            {
              head: t`For you`,
              cell: ({ scheduledAt }) => new Date(scheduledAt).toLocaleString(i18n.locale, { dateStyle: "medium", timeStyle: "short" }),
              isMinor: true,
            },
          ]}
        />
      )}
    </div>
  );
}
