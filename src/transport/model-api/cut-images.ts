import { createHash } from "node:crypto";
import type { JsonObject } from "../../domain/core/json.ts";
import type { AttachedTexts } from "../../domain/tools/chat.ts";
import { withImageData } from "../../domain/tools/images.ts";
import type { Form } from "../../domain/tools/tool.ts";
import { ToolgateError } from "../../domain/core/errors.ts";

/** Bytes of a text from which it is cut out of a message. */
const LEAST_BYTES = 64 * 1024;

/** Most texts of a message with images, so that looking for their ends takes a few milliseconds. */
const MAX_TEXTS = 50_000;

/** Bytes of which copying keeps the thread for less than a millisecond. */
const SLICE_BYTES = 1024 * 1024;

/** Longest run of backslashes before a quote; no image has any. */
const MAX_BACKSLASHES = 64;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** As JSON may write them: some clients escape slashes. */
const DATA_URL = /^data:image\\?\/[^",]*,/;
const BASE64 = /^[\w+/=\\]*$/;
/** The name of a member before its value. */
const DATA = /"data"\s*:\s*"$/;
const SEEN_BYTES = 128;

export interface CutMessage {
  /** Without the long images. */
  readonly rest: Buffer;
  readonly attached: AttachedTexts;
}

/**
 * Cuts the base64 of long images out of JSON without building its value. The text that stands for it has its
 * digest, computed beside this thread, so that the params identify the call as the image would.
 * @throws ToolgateError INVALID_REQUEST
 */
export async function cutImages(bytes: Buffer, form: Form): Promise<CutMessage> {
  const pieces: Uint8Array[] = [];
  const attached = new Map<string, Uint8Array>();
  let kept = 0;
  for (const [start, end] of textsOf(bytes)) {
    const from = end - start < LEAST_BYTES ? undefined : dataStart(bytes, start, form);
    if (from === undefined) continue;
    const image = bytes.subarray(from, end);
    const name = `sha256:${await digestOf(image)};${attached.size}`;
    attached.set(name, image);
    pieces.push(bytes.subarray(kept, from), Buffer.from(name));
    kept = end;
  }
  return { rest: Buffer.concat([...pieces, bytes.subarray(kept)]), attached };
}

/** Digest of the digests of slices: each is copied for the thread that computes it. */
async function digestOf(image: Buffer): Promise<string> {
  const digests = createHash("sha256");
  for (let at = 0; at < image.length; at += SLICE_BYTES)
    digests.update(
      new Uint8Array(await crypto.subtle.digest("SHA-256", image.subarray(at, at + SLICE_BYTES))),
    );
  return digests.digest("hex");
}

/** Where the base64 of a text starts; undefined: it looks like no image. */
function dataStart(bytes: Buffer, start: number, form: Form): number | undefined {
  const head = bytes.toString("latin1", start, start + SEEN_BYTES);
  if (form !== "messages") {
    const [prefix] = DATA_URL.exec(head) ?? [];
    return prefix === undefined ? undefined : start + prefix.length;
  }
  const before = bytes.toString("latin1", Math.max(0, start - SEEN_BYTES), start);
  return DATA.test(before) && BASE64.test(head) ? start : undefined;
}

/** The start and the end of each text, keys too. */
function* textsOf(bytes: Buffer): Generator<readonly [start: number, end: number]> {
  let quotes = 0;
  for (let at = bytes.indexOf(QUOTE); at >= 0;) {
    const start = at + 1;
    let end = bytes.indexOf(QUOTE, start);
    while (end >= 0 && isEscaped(bytes, start, end)) {
      if (++quotes > MAX_TEXTS) throw tooMany();
      end = bytes.indexOf(QUOTE, end + 1);
    }
    if (++quotes > MAX_TEXTS) throw tooMany();
    if (end < 0) return;
    yield [start, end];
    at = bytes.indexOf(QUOTE, end + 1);
  }
}

function isEscaped(bytes: Buffer, start: number, quote: number): boolean {
  let run = 0;
  while (quote - run > start && bytes[quote - run - 1] === BACKSLASH)
    if (++run > MAX_BACKSLASHES) throw tooMany();
  return run % 2 === 1;
}

function tooMany(): ToolgateError {
  return new ToolgateError(
    "INVALID_REQUEST",
    `body: has more than ${MAX_TEXTS} texts beside images; send fewer`,
  );
}

/** @throws ToolgateError PAYLOAD_TOO_LARGE unless each text that was cut out is the data of one image */
export function requireImages(body: JsonObject, attached: AttachedTexts, form: Form): void {
  // Names that a text of the caller has stay text; at other places images would have no price.
  if ([form, undefined].every((places) => areUsedOnce(body, attached, places))) return;
  throw new ToolgateError("PAYLOAD_TOO_LARGE", "body: only images may be that long; send less");
}

function areUsedOnce(body: JsonObject, attached: AttachedTexts, form: Form | undefined): boolean {
  const uses = new Map<string, number>();
  const count = (data: string) => {
    uses.set(data, (uses.get(data) ?? 0) + 1);
    return data;
  };
  withImageData(body, count, form);
  return [...attached.keys()].every((name) => uses.get(name) === 1);
}
