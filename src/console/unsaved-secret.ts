import { onSessionEnd } from "./session-end.ts";
import { createStore } from "./store.ts";

/** A new secret, which the gateway shows only once. */
export interface UnsavedSecret {
  keyId: string;
  name: string;
  secret: string;
  /** Scopes and allowed tools of the key. */
  scopes: readonly string[];
  tools: readonly string[];
}

const unsaved = createStore<UnsavedSecret | undefined>(undefined);

/** Keeps the secret in memory until the user confirms that it is saved. */
export function storeUnsavedSecret(secret: UnsavedSecret): void {
  addEventListener("beforeunload", confirmUnload);
  unsaved.set(secret);
}

export function clearUnsavedSecret(): void {
  removeEventListener("beforeunload", confirmUnload);
  unsaved.set(undefined);
}

onSessionEnd(clearUnsavedSecret);

export function useUnsavedSecret(): UnsavedSecret | undefined {
  return unsaved.use();
}

/** Makes the browser ask before the page is closed. */
function confirmUnload(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
