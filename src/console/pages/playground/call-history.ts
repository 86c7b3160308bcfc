import { useCallback, useEffect } from "react";
import { createStore } from "../../store.ts";
import { onSessionEnd } from "../../session-end.ts";
import { useSignedIn } from "../../session.tsx";
import type { CallRecord } from "./tool-call.ts";
import type { SignedPayment } from "./payment.ts";
import { asObject, asText } from "./schema.ts";
import { readFromTab, writeToTab } from "./tab-storage.ts";

interface CallHistory {
  /** Owner of the records: another session must not see them, nor receive late responses. */
  readonly sessionId: string;
  readonly record?: CallRecord;
  /** Newest first. */
  readonly history: readonly CallRecord[];
}

const MAX_RECORDS = 20;

/** Kept in memory only, so that Back from a receipt finds the call again. */
const kept = createStore<CallHistory | undefined>(undefined);

onSessionEnd(() => kept.set(undefined));

/** Returns the call history; `show` sets the visible record, `end` adds a finished one. */
export function useCallHistory() {
  const { sessionId } = useSignedIn().session;
  const all = kept.use();
  const mine = all?.sessionId === sessionId ? all : undefined;
  useEffect(() => {
    if (kept.get()?.sessionId === sessionId) return;
    const record = storedCall(sessionId);
    kept.set({ sessionId, history: [], ...(record && { record }) });
  }, [sessionId]);
  const show = useCallback(
    (record: CallRecord) => {
      const now = kept.get();
      if (now?.sessionId === sessionId) kept.set({ ...now, record });
    },
    [sessionId],
  );
  const end = useCallback(
    (record: CallRecord) => {
      const now = kept.get();
      if (now?.sessionId !== sessionId) return;
      const others = now.history.filter(({ startedAt }) => startedAt !== record.startedAt);
      kept.set({ sessionId, record, history: [record, ...others].slice(0, MAX_RECORDS) });
    },
    [sessionId],
  );
  return { record: mine?.record, history: mine?.history ?? [], show, end };
}

const NAME = "call";

/** Stores what finds a result after a reload. Only for calls with a temporary key, which is stored too. */
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

export function forgetCall(sessionId: string): void {
  writeToTab(NAME, sessionId, undefined);
}

/** Returns the stored call without its steps. */
function storedCall(sessionId: string): CallRecord | undefined {
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
