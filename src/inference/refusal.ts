import { isJsonObject, type JsonObject } from "../domain/core/json.ts";
import type { Refusal } from "../domain/core/errors.ts";
import { readErrorText, shortened, wordsIn } from "../outbound/error-words.ts";
import type { ServerAnswer } from "../outbound/server-answer.ts";

/** Statuses of a model server that the caller's request caused. */
const OF_CALLER = new Set([400, 413, 414, 422, 431, 451]);

/** OpenAI's code, by which agents shorten a conversation. */
const TOO_LONG = "context_length_exceeded";

/** How servers without that code say it. */
const SAYS_TOO_LONG =
  /context[ _-]?(?:length|size|window)|maximum (?:context|model|input) length|exceed_context|prompt is too long|too many (?:input )?tokens/i;

/** Characters of it in the log. */
const MAX_SAID = 1_000;

/** What a server says of the request that it refused. */
export interface SaidRefusal {
  /** 4xx. */
  readonly status: number;
  readonly words: string;
  readonly refusal: Refusal;
}

/** @returns undefined unless the request was at fault @param error its `error` */
export function refusalOf(status: number, error: unknown): SaidRefusal | undefined {
  if (!OF_CALLER.has(status)) return undefined;
  const { type, code, param } = isJsonObject(error) ? error : {};
  const words = wordsIn(error);
  const named = wordOf(code);
  const isLong = SAYS_TOO_LONG.test(`${words} ${typeof type === "string" ? type : ""}`);
  const members = {
    type: wordOf(type),
    code: isLong ? TOO_LONG : named,
    param: wordOf(param),
  };
  const known = Object.entries(members).filter(([, word]) => word !== undefined);
  return {
    status: status === 413 || status === 422 ? status : 400,
    words,
    refusal: Object.fromEntries(known),
  };
}

/** Undefined for numbers, prose and addresses. */
function wordOf(value: unknown): string | undefined {
  return typeof value === "string" && /^[A-Za-z][\w.[\]-]{0,127}$/.test(value) ? value : undefined;
}

/** URLs and IP addresses: where a server is. */
const ADDRESSES =
  /\b[a-z][a-z\d+.-]*:\/\/\S+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[[\da-f:.]{2,}\](?::\d+)?|\blocalhost(?::\d+)?/gi;

/** Returns words without addresses; empty if they have one of the texts. */
export function withoutPlaces(words: string, texts: readonly string[]): string {
  const lower = words.toLowerCase();
  if (texts.some((text) => text.length > 3 && lower.includes(text.toLowerCase()))) return "";
  return shortened(words.replaceAll(ADDRESSES, "…"));
}

/** An answer that is not 2xx. */
export class StatusError extends Error {
  override name = "StatusError";
  readonly status: number;
  readonly headers: Headers;
  /** What the body says. */
  readonly error: JsonObject;

  constructor({ status, headers }: Pick<ServerAnswer, "status" | "headers">, error: JsonObject) {
    super(`HTTP ${status} ${JSON.stringify(error).slice(0, MAX_SAID)}`);
    [this.status, this.headers, this.error] = [status, headers, error];
  }
}

export async function statusError(answer: ServerAnswer): Promise<StatusError> {
  return new StatusError(answer, errorIn(await readErrorText(answer)));
}

function errorIn(text: string): JsonObject {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { message: text.startsWith("<") ? "" : text };
  }
  const error = isJsonObject(body) && Object.hasOwn(body, "error") ? body["error"] : body;
  return isJsonObject(error) ? error : { message: wordsIn(error) };
}
