import { useSyncExternalStore } from "react";
import { onSessionEnd } from "./session-end.ts";

/** A secret that was just made: nobody can ask for it again. */
export interface UnsavedSecret {
  keyId: string;
  name: string;
  secret: string;
  /** What it may do, and the only tools that it may call where there are any. */
  scopes: readonly string[];
  tools: readonly string[];
}

let unsaved: UnsavedSecret | undefined;
const listeners = new Set<() => void>();

/** Keeps the secret, in this page's memory alone, until it is said to be saved: whoever leaves the page for another finds it there again. */
export function storeUnsavedSecret(secret: UnsavedSecret): void {
  addEventListener("beforeunload", confirmUnload);
  set(secret);
}

/** Forgets it. */
export function clearUnsavedSecret(): void {
  removeEventListener("beforeunload", confirmUnload);
  set(undefined);
}

onSessionEnd(clearUnsavedSecret);

/** The secret that is not saved yet. */
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

/** The browser asks whether to leave, in its own words. */
function confirmUnload(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
