import { useSyncExternalStore } from "react";
import { onSessionEnd } from "./session-end.ts";

/** A new secret, which the gateway shows only once. */
export interface UnsavedSecret {
  keyId: string;
  name: string;
  secret: string;
  /** Scopes and allowed tools of the key. */
  scopes: readonly string[];
  tools: readonly string[];
}

let unsaved: UnsavedSecret | undefined;
const listeners = new Set<() => void>();

/** Keeps the secret in memory until the user confirms that it is saved. */
export function storeUnsavedSecret(secret: UnsavedSecret): void {
  addEventListener("beforeunload", confirmUnload);
  set(secret);
}

/** Removes the secret. */
export function clearUnsavedSecret(): void {
  removeEventListener("beforeunload", confirmUnload);
  set(undefined);
}

onSessionEnd(clearUnsavedSecret);

/** Returns the unsaved secret. */
export function useUnsavedSecret(): UnsavedSecret | undefined {
  return useSyncExternalStore(subscribe, () => unsaved);
}

function set(secret: UnsavedSecret | undefined): void {
  unsaved = secret;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Makes the browser ask before the page is closed. */
function confirmUnload(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
