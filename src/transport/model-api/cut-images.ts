import { createHash } from "node:crypto";
import type { JsonObject } from "../../domain/core/json.ts";
import type { AttachedTexts } from "../../domain/tools/chat.ts";
import { withImageUrls } from "../../domain/tools/image-urls.ts";
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
/** As JSON may write it: some clients escape slashes. */
const IMAGE = /^data:image\\?\/$/;

export interface CutMessage {
  /** Without the long images. */
  readonly rest: Buffer;
  readonly attached: AttachedTexts;
}

/**
 * Cuts long images out of JSON without building their values. The text that stands for one has its digest,
 * computed beside this thread, so that the params identify the call as the image would.
 * @throws ToolgateError INVALID_REQUEST
 */
export async function cutImages(bytes: Buffer): Promise<CutMessage> {
  const pieces: Uint8Array[] = [];
  const attached = new Map<string, Uint8Array>();
  let kept = 0;
  for (const [start, end] of textsOf(bytes)) {
    if (end - start < LEAST_BYTES || !isImage(bytes, start)) continue;
    const image = bytes.subarray(start, end);
    const name = `data:image/*;sha256,${await digestOf(image)};${attached.size}`;
    attached.set(name, image);
    pieces.push(bytes.subarray(kept, start), Buffer.from(name));
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

function isImage(bytes: Buffer, start: number): boolean {
  const length = bytes[start + "data:image".length] === BACKSLASH ? 12 : 11;
  return IMAGE.test(bytes.toString("latin1", start, start + length));
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

/** @throws ToolgateError PAYLOAD_TOO_LARGE unless each text that was cut out is the URL of one image */
export function requireImages(body: JsonObject, attached: AttachedTexts): void {
  const uses = new Map<string, number>();
  withImageUrls(body, (url) => {
    uses.set(url, (uses.get(url) ?? 0) + 1);
    return url;
  });
  if ([...attached.keys()].every((name) => uses.get(name) === 1)) return;
  throw new ToolgateError("PAYLOAD_TOO_LARGE", "body: only the URLs of images may be that long; send less");
}
