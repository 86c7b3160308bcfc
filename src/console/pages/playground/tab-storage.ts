import { hasSessionExpired } from "../../rpc.ts";
import { onSessionEnd } from "../../session-end.ts";
import { parseJson } from "./schema.ts";
import type { JsonValue } from "@bufbuild/protobuf";

const PREFIX = "toolgate-playground-";

/** Begins the name of a tool's form, stored for the account: it outlives its session until a sign-out. */
export const FORM = "form-";

/** Returns what this tab stored for the owner, also after a reload; undefined if there is nothing. */
export function readFromTab(name: string, owner: string): JsonValue | undefined {
  try {
    const text = sessionStorage.getItem(`${PREFIX}${name}-${owner}`);
    const parsed = text === null ? undefined : parseJson(text);
    return parsed && "value" in parsed ? parsed.value : undefined;
  } catch {
    return undefined;
  }
}

/** Stores a value in this tab until the session ends; undefined removes it. */
export function writeToTab(name: string, owner: string, value: unknown): void {
  const key = `${PREFIX}${name}-${owner}`;
  try {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Without storage, or beyond its size, the value lasts until the page is closed.
  }
}

onSessionEnd(() => {
  try {
    const ended = hasSessionExpired() ? new RegExp(`^${PREFIX}(?!${FORM})`) : new RegExp(`^${PREFIX}`);
    for (const key of Object.keys(sessionStorage)) if (ended.test(key)) sessionStorage.removeItem(key);
  } catch {
    // Nothing was stored.
  }
});
