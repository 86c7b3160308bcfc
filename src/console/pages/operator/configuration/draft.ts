export interface Draft {
  readonly text: string;
}

const STORED = "toolgate-config-draft";

/** Returns the draft of this browser. */
export function readDraft(): Draft | undefined {
  try {
    const text = localStorage.getItem(STORED);
    return text === null ? undefined : { text };
  } catch {
    return undefined;
  }
}

/** Keeps a draft beyond a reload. A document has no secrets. */
export function writeDraft({ text }: Draft): void {
  try {
    localStorage.setItem(STORED, text);
  } catch {
    // Without storage a draft lasts until the page closes.
  }
}

export function discardDraft(): void {
  try {
    localStorage.removeItem(STORED);
  } catch {
    // Nothing was stored.
  }
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
