import { MalformedAnswer } from "./rpc-failure.ts";

/** The longest answer that is read unless its request says otherwise, bytes: the largest transaction fits many times over. */
const LONGEST_ANSWER = 4 * 1024 * 1024;

/** Reads a body of bounded length. @throws MalformedAnswer when it is longer */
export async function readBody(response: Response, longest = LONGEST_ANSWER): Promise<string> {
  const announced = response.headers.get("content-length");
  // An announced length is enforced by HTTP framing, unless the body is compressed.
  if (announced !== null && !response.headers.has("content-encoding") && Number(announced) <= longest)
    return response.text();
  const body: AsyncIterable<Uint8Array> | null = response.body;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > longest) throw new MalformedAnswer("the answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** How long an answer asks to wait, ms (Retry-After as seconds or as a date, RFC 9110 section 10.2.3), at most five minutes. */
export function retryAfterMs(response: Response, now: number): number | undefined {
  const text = response.headers.get("retry-after");
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 300_000) : undefined;
}
