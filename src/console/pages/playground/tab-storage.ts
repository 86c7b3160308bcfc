import { onSessionEnd } from "../../session-end.ts";
import { parseJson } from "./schema.ts";
import type { JsonValue } from "@bufbuild/protobuf";

const PREFIX = "toolgate-playground-";

/** Returns what this tab stored for the session, also after a reload; undefined if there is nothing. */
export function readFromTab(name: string, sessionId: string): JsonValue | undefined {
  try {
    const text = sessionStorage.getItem(`${PREFIX}${name}-${sessionId}`);
    const parsed = text === null ? undefined : parseJson(text);
    return parsed && "value" in parsed ? parsed.value : undefined;
  } catch {
    return undefined;
  }
}

/** Stores a value in this tab until the session ends; undefined removes it. */
export function writeToTab(name: string, sessionId: string, value: unknown): void {
  const key = `${PREFIX}${name}-${sessionId}`;
  try {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Without storage, or beyond its size, the value lasts until the page is closed.
  }
}

onSessionEnd(() => {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  } catch {
    // Nothing was stored.
  }
});
