import type { SignedPayment } from "./payment.ts";
import { asObject, asText } from "./schema.ts";
import { readFromTab, writeToTab } from "./tab-storage.ts";
import type { CallRecord } from "./use-playground-call.ts";

const NAME = "call";

/**
 * Stores what finds the result again after a reload: the request with its idempotency key, and its payment.
 * Only for calls with a temporary key, which the tab keeps as well.
 */
export function storeCall(sessionId: string, record: CallRecord): void {
  const { body, payment, startedAt, recoverable, lastExchange } = record;
  const stored = {
    body,
    payment: payment && { ...payment, exchange: undefined },
    startedAt,
    resultShown: lastExchange?.response.status === 200,
  };
  writeToTab(NAME, sessionId, recoverable ? stored : undefined);
}

/** Forgets the stored call. */
export function forgetCall(sessionId: string): void {
  writeToTab(NAME, sessionId, undefined);
}

/** Returns the stored call without its steps. */
export function storedCall(sessionId: string): CallRecord | undefined {
  const { body, payment, startedAt, resultShown } = asObject(readFromTab(NAME, sessionId));
  const { tool, params } = asObject(body);
  const started = new Date(asText(startedAt));
  if (typeof tool !== "string" || Number.isNaN(started.getTime())) return undefined;
  return {
    call: { tool, params: asObject(params) },
    body: asObject(body),
    key: "",
    startedAt: started,
    steps: [],
    recoverable: true,
    restored: true,
    resultShown: resultShown === true,
    payment: paymentOf(asObject(payment)),
  };
}

function paymentOf({ xPayment, proof }: ReturnType<typeof asObject>): SignedPayment | undefined {
  return typeof xPayment === "string" ? { xPayment, proof: asObject(proof) } : undefined;
}
