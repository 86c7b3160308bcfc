import { useCallback, useEffect, useSyncExternalStore } from "react";
import { forgetWithSession } from "../../session-end.ts";
import { useSignedIn } from "../../session.tsx";
import type { Play } from "./use-playground-call.ts";

/** The calls of this visit. */
interface Kept {
  /** Whose they are: whoever signs in next does not find them, nor do answers that come late. */
  readonly sessionId: string;
  readonly play?: Play;
  /** Newest first. */
  readonly history: readonly Play[];
}

/** How many are kept. */
const MOST = 20;

/** In this page's memory alone: who looks at a receipt, and comes back, finds what happened. */
let kept: Kept | undefined;
const listeners = new Set<() => void>();

function set(next: Kept | undefined): void {
  kept = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

forgetWithSession(() => set(undefined));

/** The calls of this visit; `show` is what is looked at, `end` adds one that is over for now. */
export function useKeptPlays() {
  const { sessionId } = useSignedIn().session;
  const all = useSyncExternalStore(subscribe, () => kept);
  const mine = all?.sessionId === sessionId ? all : undefined;
  useEffect(() => {
    if (kept?.sessionId !== sessionId) set({ sessionId, history: [] });
  }, [sessionId]);
  const show = useCallback(
    (play: Play) => {
      if (kept?.sessionId === sessionId) set({ ...kept, play });
    },
    [sessionId],
  );
  const end = useCallback(
    (play: Play) => {
      if (kept?.sessionId !== sessionId) return;
      const others = kept.history.filter(({ startedAt }) => startedAt !== play.startedAt);
      set({ sessionId, play, history: [play, ...others].slice(0, MOST) });
    },
    [sessionId],
  );
  return { play: mine?.play, history: mine?.history ?? [], show, end };
}
