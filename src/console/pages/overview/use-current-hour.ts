import { useSyncExternalStore } from "react";

const HOUR = 3_600_000;

/** Returns the start of the current hour, ms; rerenders when the next hour starts. */
export function useCurrentHour(): number {
  return useSyncExternalStore(subscribe, () => Math.floor(Date.now() / HOUR) * HOUR);
}

function subscribe(listener: () => void): () => void {
  const timer = setInterval(listener, 20_000);
  return () => clearInterval(timer);
}
