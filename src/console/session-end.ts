const handlers = new Set<() => void>();

/** Registers a handler that clears module state when the session ends or changes. */
export function onSessionEnd(forget: () => void): void {
  handlers.add(forget);
}

export function runSessionEndHandlers(): void {
  for (const forget of handlers) forget();
}
