/** Returns what this browser stores under a name; undefined: nothing, or there is no storage. */
export function readStored(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a text in this browser; undefined removes it. Without storage it is forgotten with the page. */
export function store(name: string, text: string | undefined): void {
  try {
    if (text === undefined) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    // There is no storage.
  }
}
