import { readStored, store } from "../../../browser-storage.ts";

export interface Draft {
  readonly text: string;
}

const STORED = "toolgate-config-draft";

/** Returns the draft of this browser. */
export function readDraft(): Draft | undefined {
  const text = readStored(STORED);
  return text === undefined ? undefined : { text };
}

/** Keeps a draft beyond a reload. A document has no secrets. */
export function storeDraft(draft: Draft | undefined): void {
  store(STORED, draft?.text);
}

/** Returns a document with indents; unchanged if it is not JSON. */
export function formatDocument(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

/** Returns why a text is not JSON; undefined: it is. */
export function jsonError(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function toolsOf(text: string): readonly string[] {
  try {
    const document: unknown = JSON.parse(text);
    const tools: unknown =
      typeof document === "object" && document !== null && "tools" in document ? document.tools : [];
    if (!Array.isArray(tools)) return [];
    return tools.flatMap((tool: unknown) =>
      typeof tool === "object" && tool !== null && "name" in tool && typeof tool.name === "string"
        ? [tool.name]
        : [],
    );
  } catch {
    return [];
  }
}
