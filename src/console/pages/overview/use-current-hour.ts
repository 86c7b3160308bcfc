import { useSyncExternalStore } from "react";

const HOUR = 3_600_000;

/** The hour that runs, as its first moment, ms: what is asked for by the hour is asked for anew when the next one begins. */
export function useCurrentHour(): number {
  return useSyncExternalStore(subscribe, () => Math.floor(Date.now() / HOUR) * HOUR);
}

function subscribe(listener: () => void): () => void {
  const timer = setInterval(listener, 20_000);
  return () => clearInterval(timer);
}
