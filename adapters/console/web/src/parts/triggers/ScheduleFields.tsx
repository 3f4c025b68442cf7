import { useLingui } from "@lingui/react/macro";
import { useEffect, useRef, useState } from "react";
import { useTenant } from "@/api";
import { SelectField, TextField } from "@/ui";
import { type Config, configOf, intervalIn } from "./config";
import { SchedulePreview } from "./SchedulePreview";
import { unitWords } from "./words";

const zones = Intl.supportedValuesOf("timeZone");

/** The fields of a schedule, and when it would fire. */
export function ScheduleFields({ schedule = {} }: { schedule?: Config["scheduleConfig"] }) {
  const { t } = useLingui();
  const { api } = useTenant();
  const [sort, setSort] = useState(schedule.intervalMs ? "interval" : "cron");
  const interval = intervalIn(schedule.intervalMs ?? 3_600_000);
  const box = useRef<HTMLDivElement>(null);
  const { mutate, data, error } = api.useMutation("post", "/triggers/preview");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);

  // What the form would send, asked a moment after the last change.
  const ask = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const form = box.current?.closest("form");
      if (!form) return;
      const given = new FormData(form);
      const text = (name: string) => String(given.get(name) ?? "").trim() || undefined;
      const { scheduleConfig } = configOf("schedule", text);
      if (scheduleConfig?.cron || scheduleConfig?.intervalMs) mutate({ body: { config: { scheduleConfig } } });
    }, 400);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: other fields ask by themselves
  useEffect(() => {
    ask();
    return () => clearTimeout(timer.current);
  }, [sort]);

  return (
    <div ref={box} className="flex flex-col gap-4" onInput={ask}>
      <SelectField
        name="sort"
        label={t`When`}
        value={sort}
        onChange={(event) => setSort(event.target.value)}
        options={{ cron: t`At times of the clock (cron)`, interval: t`Every so often` }}
      />
      {sort === "cron" ? (
        <>
          <TextField
            name="config.scheduleConfig.cron"
            label={t`Cron`}
            help={t`Minute, hour, day of month, month, day of week: 0 9 * * 1-5 is 9:00 from Monday to Friday.`}
            defaultValue={schedule.cron ?? "0 9 * * 1-5"}
            isCode
          />
          <TextField
            name="config.scheduleConfig.timezone"
            label={t`Time zone`}
            list="time-zones"
            defaultValue={schedule.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone}
          />
          <datalist id="time-zones">
            {zones.map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
        </>
      ) : (
        <div className="grid grid-cols-2 gap-3">
          <TextField name="config.scheduleConfig.intervalMs" label={t`Every`} type="number" min={1} defaultValue={interval.count} />
          <SelectField name="unit" label={t`Unit`} defaultValue={interval.unit} options={unitWords} />
        </div>
      )}
      <SelectField
        name="config.scheduleConfig.catchUp"
        label={t`Times missed while the gateway was down`}
        defaultValue={schedule.catchUp ?? "last"}
        options={{ last: t`the last one fires afterwards`, all: t`all of them fire afterwards`, none: t`none of them fires` }}
      />
      <SelectField
        name="config.scheduleConfig.overlap"
        label={t`While the run before goes on`}
        defaultValue={schedule.overlap ?? "allow"}
        options={{ allow: t`it fires all the same`, skip: t`it does not fire` }}
      />
      <section aria-label={t`Next times`} className="flex flex-col gap-1">
        <h3 className="font-medium">{t`Next times`}</h3>
        <SchedulePreview preview={error ? undefined : data} error={error} />
      </section>
    </div>
  );
}
