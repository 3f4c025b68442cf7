import { msg } from "@lingui/core/macro";
import type { Schemas } from "@/api";
import type { State } from "@/ui";

type EventType = Schemas["SubscribableEventType"];

// The compiler says when the API has a type that is not here.
const all: Record<EventType, true> = {
  "run.started": true,
  "run.completed": true,
  "run.failed": true,
  "run.cancelled": true,
  "run.paused": true,
  "run.resumed": true,
  "workflow.published": true,
  "trigger.disabled": true,
  "webhook_endpoint.disabled": true,
  "connection.needs_consent": true,
  "usage.threshold": true,
};

/** What an endpoint can subscribe to. */
export const eventTypes = Object.keys(all) as EventType[];

/** How an endpoint is: what the gateway switched off itself is not what a person switched off. */
export function stateOf({ isActive, disabled, failingSince }: Pick<Schemas["WebhookEndpoint"], "isActive" | "disabled" | "failingSince">) {
  if (isActive) return failingSince ? "failing" : "on";
  return disabled ? "disabled" : "off";
}

export const deliveryStates: Record<Schemas["DeliveryStatus"], State> = {
  pending: { word: msg`Pending`, tone: "info" },
  delivered: { word: msg`Delivered`, tone: "ok" },
  failed: { word: msg`Failed`, tone: "danger" },
};
