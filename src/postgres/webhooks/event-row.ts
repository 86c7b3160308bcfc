import type { PendingEvent } from "../../app/webhooks/webhook-queue.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { referenceText } from "../database/payment-keys.ts";

/** Columns of webhook_event. */
export interface EventRow {
  id: string;
  type: string;
  data: Record<string, unknown>;
  created_at: Date;
}

export function pendingEvent({ id, type, data, created_at: createdAt }: EventRow): PendingEvent {
  return { eventId: idFromUuid("evt", id), type, createdAt, data: dataOf(data) };
}

/** SQL has no base58: it writes the reference of a payment in hex. */
function dataOf({ network, reference, ...data }: Record<string, unknown>): Record<string, unknown> {
  if (typeof network !== "string" || typeof reference !== "string") return data;
  return { ...data, tx_signature: referenceText({ network, reference: Buffer.from(reference, "hex") }) };
}
