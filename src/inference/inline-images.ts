import type { ChatRequest } from "../domain/tools/chat.ts";
import { invalidField, ToolgateError } from "../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../domain/core/json.ts";
import { ForbiddenAddressError, type Guard } from "../outbound/address-guard.ts";
import { openGuardedFetch, type OpenFetch } from "../outbound/guarded-fetch.ts";
import { ResponseTooLongError } from "../outbound/server-answer.ts";
import { VERSION } from "../version.ts";
import { cancelled, upstreamFailure } from "./upstream-failure.ts";

/** Limits of the images of one call: bytes of all, redirects of each, ms for all. */
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_REDIRECTS = 3;
const TIMEOUT_MS = 15_000;

const HEADERS = { accept: "image/*", "user-agent": `toolgate-images/${VERSION}` };

interface ImageOptions {
  readonly signal: AbortSignal;
  /** Aborts when the caller takes no more; undefined: the result is only returned. */
  readonly closed?: AbortSignal | undefined;
}

/** Fetches the images of conversations, so that no model server connects to an address of the caller. */
export class ImageInliner {
  readonly #connections: OpenFetch;

  /** @param guard default: public addresses only */
  constructor(guard: Guard = { network: "public" }) {
    this.#connections = openGuardedFetch({ maxBytes: MAX_BYTES, ...guard });
  }

  /**
   * Returns the request with a data URL in place of each http(s) image URL.
   * @throws ToolgateError INVALID_REQUEST naming the field; UNAVAILABLE, CANCELLED when aborted
   */
  async inline(request: ChatRequest, { signal, closed }: ImageOptions): Promise<ChatRequest> {
    const budget = { bytes: MAX_BYTES };
    // Made for the first image: most requests have none, and an abort costs 20 us.
    let failed: AbortController | undefined;
    let limit: AbortSignal | undefined;
    const fetched = new Map<string, string>();
    const fetchOne = async (url: string) => {
      failed ??= new AbortController();
      limit ??= AbortSignal.timeout(TIMEOUT_MS);
      const ends = AbortSignal.any([signal, failed.signal, limit, ...(closed ? [closed] : [])]);
      const image = await this.#dataUrl(new URL(url), ends, budget);
      fetched.set(url, image);
      return image;
    };
    try {
      const messages = await Promise.all(
        request.messages.map((message, index) => withImages(message, index, fetchOne)),
      );
      const { passed } = request;
      if (!passed || fetched.size === 0) return { ...request, messages };
      const body = Object.fromEntries(
        Object.entries(passed.body).map(([name, value]) => [name, withFetched(value, fetched)]),
      );
      return { ...request, messages, passed: { ...passed, body } };
    } catch (error) {
      if (signal.aborted)
        throw upstreamFailure(error, { stopped: true, late: undefined, stalled: undefined });
      if (closed?.aborted) throw cancelled(error);
      throw error;
    } finally {
      failed?.abort();
    }
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  async #dataUrl(url: URL, signal: AbortSignal, budget: { bytes: number }): Promise<string> {
    let at = url;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const response = await this.#connections.fetch(at, { headers: HEADERS, signal });
      const { status, headers, body } = response;
      const location = status >= 300 && status < 400 ? headers.get("location") : null;
      if (location !== null) {
        await body?.cancel();
        at = redirectTarget(location, at);
        continue;
      }
      const type = /^image\/[\w.+-]{1,64}(?=\s*(?:;|$))/i.exec(headers.get("content-type") ?? "")?.[0];
      if (status === 200 && type) return `data:${type.toLowerCase()};base64,${await base64Of(body, budget)}`;
      await body?.cancel();
      throw new UnusableImageError(status === 200 ? "its content type is no image" : `HTTP ${status}`);
    }
    throw new UnusableImageError(`more than ${MAX_REDIRECTS} redirects`);
  }
}

class UnusableImageError extends Error {
  override name = "UnusableImageError";
}

/** @throws UnusableImageError for what the caller may not name either */
function redirectTarget(location: string, from: URL): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (target && /^https?:$/.test(target.protocol) && target.username === "" && target.password === "")
    return target;
  throw new UnusableImageError("a redirect to a URL that is not allowed");
}

async function base64Of(body: ReadableStream<Uint8Array> | null, budget: { bytes: number }): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) {
    budget.bytes -= chunk.length;
    if (budget.bytes < 0) throw new ResponseTooLongError(MAX_BYTES);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("base64");
}

/** Returns a value of a passed request with the images in place of their URLs. */
function withFetched(value: JsonValue, images: ReadonlyMap<string, string>): JsonValue {
  if (Array.isArray(value)) return value.map((item) => withFetched(item, images));
  if (!isJsonObject(value)) return value;
  const { type, url, image_url: address } = value;
  const image = typeof url === "string" ? images.get(url) : undefined;
  // Anthropic's API has no data URLs.
  if (type === "url" && image)
    return { type: "base64", media_type: mediaOf(image), data: image.slice(image.indexOf(",") + 1) };
  const data = typeof address === "string" ? images.get(address) : undefined;
  const members: JsonObject = {};
  for (const [name, member] of Object.entries(value)) setMember(members, name, withFetched(member, images));
  return { ...members, ...(data !== undefined && { image_url: data }) };
}

function mediaOf(dataUrl: string): string {
  return dataUrl.slice("data:".length, dataUrl.indexOf(";"));
}

type FetchImage = (url: string) => Promise<string>;

async function withImages(message: object, index: number, fetchImage: FetchImage): Promise<object> {
  const { content }: { content?: unknown } = message;
  if (!Array.isArray(content)) return message;
  const parts = content.map((part: JsonValue, at) =>
    withImage(part, `params.messages[${index}].content[${at}].image_url.url`, fetchImage),
  );
  return { ...message, content: await Promise.all(parts) };
}

async function withImage(part: JsonValue, path: string, fetchImage: FetchImage): Promise<JsonValue> {
  const image = isJsonObject(part) ? part["image_url"] : undefined;
  if (!isJsonObject(part) || !isJsonObject(image)) return part;
  const { url } = image;
  if (typeof url !== "string" || /^data:/i.test(url)) return part;
  try {
    const inlined: JsonObject = { ...image, url: await fetchImage(url) };
    return { ...part, image_url: inlined };
  } catch (error) {
    const { message } = invalidField(path, `${reasonOf(error)}; send the image as a data:image/ URL`);
    throw new ToolgateError("INVALID_REQUEST", message, { worked: true, cause: error });
  }
}

/** Answers of foreign servers are not repeated. */
function reasonOf(error: unknown): string {
  if (error instanceof UnusableImageError) return `could not be fetched: ${error.message}`;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ForbiddenAddressError) return "its host is not a public address";
    if (cause instanceof ResponseTooLongError)
      return `the images of a call may have ${MAX_BYTES} bytes in all when they are fetched`;
    if (cause.name === "TimeoutError") return `could not be fetched within ${TIMEOUT_MS / 1_000} s`;
  }
  return "could not be fetched";
}
