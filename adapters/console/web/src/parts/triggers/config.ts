import type { Schemas } from "@/api";

export type Trigger = Schemas["Trigger"];
export type Config = Schemas["TriggerConfig"];

/** How a trigger is started, as people tell triggers apart: a hook is a call from a third party, which has no key. */
export type Start = "call" | "event" | "schedule" | "hook";

export const typeOf = (start: Start): Trigger["type"] => (start === "schedule" ? "schedule" : "webhook");

export function startOf({ type, config }: Pick<Trigger, "type" | "config">): Start {
  if (type === "schedule") return "schedule";
  return (config as Config).webhookConfig?.event ? "event" : "call";
}

type Text = (name: string) => string | undefined;

/** The configuration that a form describes. What the form does not ask for stays as it was. */
export function configOf(start: Start, text: Text, before: Config = {}): Config {
  const config: Config = { ...before, filter: text("config.filter") };
  if (start === "schedule") config.scheduleConfig = scheduleOf(text);
  else config.webhookConfig = { ...before.webhookConfig, event: text("config.webhookConfig.event") };
  return config;
}

const unitsInMs = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };
export type Unit = keyof typeof unitsInMs;

function scheduleOf(text: Text): Config["scheduleConfig"] {
  const at = (name: string) => text(`config.scheduleConfig.${name}`);
  const common = { catchUp: at("catchUp") as "none" | "last" | "all" | undefined, overlap: at("overlap") as "allow" | "skip" | undefined };
  const every = at("intervalMs");
  if (every !== undefined) return { ...common, intervalMs: Number(every) * unitsInMs[(text("unit") as Unit | undefined) ?? "minutes"] };
  return { ...common, cron: at("cron"), timezone: at("timezone") };
}

/** An interval in its largest whole unit. */
export function intervalIn(ms: number): { count: number; unit: Unit } {
  const unit = (["days", "hours"] as const).find((unit) => ms % unitsInMs[unit] === 0) ?? "minutes";
  return { count: ms / unitsInMs[unit], unit };
}

/** Where servers call a trigger, from the address of the console. */
export function addressOf(triggerId: string, origin: string, consoleBase: string): string {
  return `${origin}${consoleBase.replace(/console\/$/, "")}v1/gateway/triggers/${triggerId}/webhook`;
}

/** A call of the trigger for a shell. The key is the reader's to put in. */
export function commandFor(address: string): string {
  return `curl -X POST ${address} \\\n  -H "X-API-Key: $SLUICE_KEY" -H "Content-Type: application/json" \\\n  -d '{"eventData": {"id": "order-1042", "amount": 1250}}'`;
}

/** A time as a clock in its zone shows it: "Sun 29 Mar 2026, 03:00 +02:00". */
export function localTime(text: string, locale: string): string {
  const [, wall, offset] = /^(.*T\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  if (!wall) return text;
  const shown = new Date(`${wall}Z`).toLocaleString(locale, {
    timeZone: "UTC",
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: wall.endsWith(":00") ? undefined : "2-digit",
  });
  return `${shown} ${offset === "Z" ? "UTC" : offset}`;
}
