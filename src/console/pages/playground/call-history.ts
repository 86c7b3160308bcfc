import { useCallback, useEffect, useSyncExternalStore } from "react";
import { onSessionEnd } from "../../session-end.ts";
import { useSignedIn } from "../../session.tsx";
import { storedCall } from "./stored-call.ts";
import type { CallRecord } from "./use-playground-call.ts";

/** Calls since the page was loaded. */
interface CallHistory {
  /** Owner of the records: another session must not see them, nor receive late responses. */
  readonly sessionId: string;
  readonly record?: CallRecord;
  /** Newest first. */
  readonly history: readonly CallRecord[];
}

const MAX_RECORDS = 20;

/** Kept in memory only, so that Back from a receipt finds the call again. */
let kept: CallHistory | undefined;
const listeners = new Set<() => void>();

function set(next: CallHistory | undefined): void {
  kept = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

onSessionEnd(() => set(undefined));

/** Returns the call history; `show` sets the visible record, `end` adds a finished one. */
export function useCallHistory() {
  const { sessionId } = useSignedIn().session;
  const all = useSyncExternalStore(subscribe, () => kept);
  const mine = all?.sessionId === sessionId ? all : undefined;
  useEffect(() => {
    if (kept?.sessionId === sessionId) return;
    const record = storedCall(sessionId);
    set({ sessionId, history: [], ...(record && { record }) });
  }, [sessionId]);
  const show = useCallback(
    (record: CallRecord) => {
      if (kept?.sessionId === sessionId) set({ ...kept, record });
    },
    [sessionId],
  );
  const end = useCallback(
    (record: CallRecord) => {
      if (kept?.sessionId !== sessionId) return;
      const others = kept.history.filter(({ startedAt }) => startedAt !== record.startedAt);
      set({ sessionId, record, history: [record, ...others].slice(0, MAX_RECORDS) });
    },
    [sessionId],
  );
  return { record: mine?.record, history: mine?.history ?? [], show, end };
}
