const handlers = new Set<() => void>();

/** Has `forget` called when the page is to be somebody else's, or nobody's: for what is kept outside of components. */
export function onSessionEnd(forget: () => void): void {
  handlers.add(forget);
}

/** Forgets all of it. */
export function runSessionEndHandlers(): void {
  for (const forget of handlers) forget();
}
