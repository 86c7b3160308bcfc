import { parse as parseYaml } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../domain/core/json.ts";
import type { Fetch } from "../../../outbound/guarded-fetch.ts";
import { readSettingFile, type SettingFiles } from "../setting-file.ts";
import { hash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { z } from "zod";

/** Characters of JSON. */
const MAX_LENGTH = 8 * 1024 * 1024;

/** Limit for chains of references. */
const MAX_HOPS = 32;

/** A valid OpenAPI document (3.0 or 3.1) without external references. */
export interface OpenApiDocument {
  readonly version: "3.0" | "3.1";
  readonly root: JsonObject;
}

/** Reads a document from a file. @throws Error with a message for the operator */
export async function readDocumentFile(file: string, stored?: SettingFiles): Promise<OpenApiDocument> {
  let text: string;
  try {
    text = (await readSettingFile(file, stored)).toString();
  } catch (error) {
    throw new Error(`${file} cannot be read (${reasonOf(error)})`, { cause: error });
  }
  return documentFrom(text, file);
}

/** Fetches a document without the operator's headers. @throws Error with a message for the operator */
export async function fetchDocument(
  url: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<OpenApiDocument> {
  const answer = await fetch(url, {
    headers: { Accept: "application/json, application/yaml, */*;q=0.5" },
    signal,
  });
  if (answer.status !== 200) {
    await answer.body?.cancel();
    throw new Error(`${url} answers with HTTP ${answer.status} instead of an OpenAPI document`);
  }
  return documentFrom(await answer.text(), url);
}

/** Follows a local reference (`#/…`) to its value. */
export function resolveReference(root: JsonObject, reference: string): JsonValue {
  let value: JsonValue = { $ref: reference };
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const next: JsonValue | undefined = isJsonObject(value) ? value["$ref"] : undefined;
    if (typeof next !== "string") return value;
    value = valueAt(root, next);
  }
  throw new Error(`the reference ${reference} resolves only to references`);
}

/** Returns the value, or the target of its reference. */
export function resolved(root: JsonObject, value: JsonValue | undefined): JsonObject {
  const target =
    isJsonObject(value) && typeof value["$ref"] === "string" ? resolveReference(root, value["$ref"]) : value;
  return isJsonObject(target) ? target : {};
}

async function documentFrom(text: string, source: string): Promise<OpenApiDocument> {
  const parsed = parseDocument(text, source);
  // The schema of OpenAPI 3.1 does not allow references here, although the specification does.
  const { paths } = parsed;
  const items = isJsonObject(paths)
    ? Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, resolved(parsed, item)]))
    : paths;
  const root: JsonObject = { ...parsed, ...(items !== undefined && { paths: items }) };
  const { openapi } = root;
  const version = typeof openapi === "string" ? /^3\.[01](?=\.)/.exec(openapi)?.[0] : undefined;
  if (version !== "3.0" && version !== "3.1")
    throw new Error(`${source} is not an OpenAPI document of version 3.0 or 3.1 (see its member openapi)`);
  try {
    await assertValidDocument(root);
  } catch (error) {
    throw new Error(`${source} is not a valid OpenAPI document (${reasonOf(error)})`, { cause: error });
  }
  return { version, root };
}

/** A round trip through JSON removes values without a JSON form, and aliases. */
function parseDocument(text: string, source: string): JsonObject {
  if (text.length > MAX_LENGTH) throw new Error(`${source} is longer than ${MAX_LENGTH} characters`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(JSON.stringify(parseYaml(text)) ?? "null");
  } catch (error) {
    // Later lines quote the document.
    throw new Error(`${source} cannot be read as JSON or YAML (${reasonOf(error).split("\n")[0]})`, {
      cause: error,
    });
  }
  if (isJsonObject(parsed)) return parsed;
  throw new Error(`${source} is not an OpenAPI document`);
}

/** JSON Pointer in a URI fragment (RFC 6901, section 6). */
function valueAt(root: JsonObject, reference: string): JsonValue {
  if (!reference.startsWith("#/"))
    throw new Error(`the reference ${reference} points outside the document; put everything into one file`);
  let value: JsonValue | undefined = root;
  for (const part of reference.slice(2).split("/")) {
    const step = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) value = value[Number(step)];
    else value = isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
    if (value === undefined) throw new Error(`the reference ${reference} does not exist`);
  }
  return value;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** CPU time of the check of a document. On a busy machine, the clock runs much faster. */
const LIMIT_MS = 20_000;
const LOOK_MS = 1_000;

/** Several tools often share one document. */
const MAX_CACHED = 64;

const answer = z.union([z.strictObject({ valid: z.literal(true) }), z.strictObject({ problem: z.string() })]);

const checked = new Map<string, Promise<void>>();

/** Validates an OpenAPI document in a thread: it takes 0.3 s of CPU. @throws Error with the problem */
function assertValidDocument(root: JsonObject): Promise<void> {
  const key = hash("sha256", JSON.stringify(root));
  const known = checked.get(key);
  if (known) return known;
  if (checked.size >= MAX_CACHED) checked.clear();
  const result = inThread(root);
  checked.set(key, result);
  // A failure may be a timeout, so it is not cached.
  result.catch(() => checked.delete(key));
  return result;
}

async function inThread(root: JsonObject): Promise<void> {
  const worker = new Worker(new URL("document-check-thread.ts", import.meta.url), { workerData: root });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  worker.once("message", resolve).once("error", reject);
  worker.once("exit", () => reject(new Error("it could not be checked")));
  const look = setInterval(() => {
    const limit = ({ user, system }: NodeJS.CpuUsage) => {
      if (user + system > LIMIT_MS * 1_000)
        reject(new Error(`its check takes more than ${LIMIT_MS / 1000} s of CPU time`));
    };
    // It may have ended.
    worker.cpuUsage().then(limit, () => {});
  }, LOOK_MS);
  try {
    const verdict = answer.parse(await promise);
    if ("problem" in verdict) throw new Error(verdict.problem);
  } finally {
    clearInterval(look);
    await worker.terminate();
  }
}
