import { useCallback, useEffect, useSyncExternalStore } from "react";
import { onSessionEnd } from "../../session-end.ts";
import { useSignedIn } from "../../session.tsx";
import type { CallRecord } from "./use-playground-call.ts";

/** The calls of this visit. */
interface CallHistory {
  /** Whose they are: whoever signs in next does not find them, nor do answers that come late. */
  readonly sessionId: string;
  readonly record?: CallRecord;
  /** Newest first. */
  readonly history: readonly CallRecord[];
}

/** How many are kept. */
const MAX_RECORDS = 20;

/** In this page's memory alone: who looks at a receipt, and comes back, finds what happened. */
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

/** The calls of this visit; `show` is what is looked at, `end` adds one that is over for now. */
export function useCallHistory() {
  const { sessionId } = useSignedIn().session;
  const all = useSyncExternalStore(subscribe, () => kept);
  const mine = all?.sessionId === sessionId ? all : undefined;
  useEffect(() => {
    if (kept?.sessionId !== sessionId) set({ sessionId, history: [] });
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
