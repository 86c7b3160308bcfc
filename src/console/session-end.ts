const keepers = new Set<() => void>();

/** Has `forget` called when the page is to be somebody else's, or nobody's: for what is kept outside of components. */
export function forgetWithSession(forget: () => void): void {
  keepers.add(forget);
}

/** Forgets all of it. */
export function forgetAll(): void {
  for (const forget of keepers) forget();
}
