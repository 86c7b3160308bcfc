import { isJsonObject } from "../domain/core/json.ts";

/** Members in which APIs explain an error, the more specific first (RFC 9457 among them). */
const EXPLANATIONS = [
  "message",
  "detail",
  "error",
  "error_description",
  "description",
  "reason",
  "title",
  "errors",
  "msg",
];

/** Returns the words in which the JSON of an error explains it, on one line; empty if there are none. */
export function wordsIn(value: unknown): string {
  return explanation(value, 4)
    .replaceAll(/[\p{C}\p{Z}]+/gu, " ")
    .trim();
}

/** Characters of words that a caller gets. */
const MAX_LENGTH = 1_000;

/** Shortens words, after a search for secrets in them. */
export function shortened(words: string): string {
  return (words.length > MAX_LENGTH ? `${words.slice(0, MAX_LENGTH - 1)}…` : words).toWellFormed();
}

function explanation(value: unknown, levels: number): string {
  if (typeof value === "string") return value;
  if (levels === 0) return "";
  if (Array.isArray(value))
    return value
      .slice(0, 5)
      .map((item) => explanation(item, levels - 1))
      .filter((words) => words !== "")
      .join("; ");
  if (!isJsonObject(value)) return "";
  for (const name of EXPLANATIONS) {
    const words = Object.hasOwn(value, name) ? explanation(value[name], levels - 1) : "";
    if (words !== "") return words;
  }
  return "";
}

/** Returns the words of the body of an error: of its JSON, or a short text that is no page. */
export function wordsOfBody(body: string): string {
  try {
    return wordsIn(JSON.parse(body));
  } catch {
    return /^\s*</.test(body) ? "" : wordsIn(body);
  }
}

interface Body {
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Bytes of an error's body that are read. */
const MAX_BODY_BYTES = 64 * 1024;

/** Reads the text of an error's response, as far as it is of use; empty if it cannot be read. */
export async function readErrorText({ body }: Body): Promise<string> {
  if (!body) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BODY_BYTES) return "";
    }
  } catch {
    return "";
  }
  return Buffer.concat(chunks).toString();
}
