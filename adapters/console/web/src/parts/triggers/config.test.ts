import { expect, test } from "vitest";
import { addressOf, configOf, intervalIn, localTime, startOf } from "./config";

const form = (values: Record<string, string>) => (name: string) => values[name];

test("a form describes a configuration, and keeps what it does not ask for", () => {
  expect(configOf("event", form({ "config.webhookConfig.event": "order.created", "config.filter": "payload.a > 1" }), { timeoutMs: 5 })).toEqual({
    timeoutMs: 5,
    filter: "payload.a > 1",
    webhookConfig: { event: "order.created" },
  });
  expect(configOf("call", form({}), { filter: "old", webhookConfig: { event: "old" } })).toEqual({
    filter: undefined,
    webhookConfig: { event: undefined },
  });
});

test("a schedule is a cron in a zone, or an interval", () => {
  const cron = form({
    "config.scheduleConfig.cron": "0 9 * * 1-5",
    "config.scheduleConfig.timezone": "Europe/Berlin",
    "config.scheduleConfig.overlap": "skip",
  });
  expect(configOf("schedule", cron).scheduleConfig).toEqual({ cron: "0 9 * * 1-5", timezone: "Europe/Berlin", overlap: "skip", catchUp: undefined });
  const interval = form({ "config.scheduleConfig.intervalMs": "2", unit: "hours" });
  expect(configOf("schedule", interval, { scheduleConfig: { cron: "* * * * *" } }).scheduleConfig).toEqual({
    intervalMs: 7_200_000,
    overlap: undefined,
    catchUp: undefined,
  });
});

test("an interval has its largest whole unit", () => {
  expect([172_800_000, 7_200_000, 5_400_000].map(intervalIn)).toEqual([
    { count: 2, unit: "days" },
    { count: 2, unit: "hours" },
    { count: 90, unit: "minutes" },
  ]);
});

test("triggers are told apart by how they start", () => {
  expect(startOf({ type: "schedule", config: {} })).toBe("schedule");
  expect(startOf({ type: "webhook", config: { webhookConfig: { event: "a" } } })).toBe("event");
  expect(startOf({ type: "webhook", config: {} })).toBe("call");
});

test("an address is that of the gateway, also below a path", () => {
  expect(addressOf("trg_1", "https://a.example", "/console/")).toBe("https://a.example/v1/gateway/triggers/trg_1/webhook");
  expect(addressOf("trg_1", "https://a.example", "/flow/console/")).toBe("https://a.example/flow/v1/gateway/triggers/trg_1/webhook");
});

test("a local time is shown as the clock of its zone shows it, wherever the reader is", () => {
  expect(localTime("2026-03-29T03:00:00.000+02:00", "en-GB")).toMatch(/Sun.* 29 Mar 2026.* 03:00 \+02:00$/);
  expect(localTime("2026-03-29T03:00:30Z", "en-GB")).toMatch(/03:00:30 UTC$/);
  expect(localTime("whenever", "en")).toBe("whenever");
});
